package deltaspec.harness;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.common.Errors.Refusal;
import deltaspec.common.Errors;
import io.delta.kernel.DataWriteContext;
import io.delta.kernel.Operation;
import io.delta.kernel.Snapshot;
import io.delta.kernel.Table;
import io.delta.kernel.Transaction;
import io.delta.kernel.TransactionBuilder;
import io.delta.kernel.TransactionCommitResult;
import io.delta.kernel.data.ColumnVector;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.internal.data.DefaultColumnarBatch;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.exceptions.CheckpointAlreadyExistsException;
import io.delta.kernel.expressions.Literal;
import io.delta.kernel.hook.PostCommitHook;
import io.delta.kernel.internal.types.DataTypeJsonSerDe;
import io.delta.kernel.internal.util.Utils;
import io.delta.kernel.internal.util.VectorUtils;
import io.delta.kernel.types.StructType;
import io.delta.kernel.utils.CloseableIterable;
import io.delta.kernel.utils.CloseableIterator;
import io.delta.kernel.utils.DataFileStatus;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/** Operations of `apply`: create, append, checkpoint, checksum and table properties. */
final class Writes {
  static final List<String> KINDS = List.of("create", "append", "checkpoint", "checksum", "set-properties");

  private static final String ENGINE_INFO = "deltaspec kernel_java";

  private Writes() {}

  static Map<String, Object> apply(Engine engine, JsonNode request) {
    return Errors.inPhase("commit", () -> perform(engine, request));
  }

  private static Map<String, Object> perform(Engine engine, JsonNode request) throws IOException {
    Table table = Table.forPath(engine, request.get("table").textValue());
    JsonNode operation = request.get("operation");
    JsonNode commit = request.path("commit");
    if (commit.hasNonNull("user_metadata")) {
      throw new Refusal("unsupported", "operation", "the kernel does not write user metadata");
    }
    String kind = operation.path("kind").asText();
    switch (kind) {
      case "create" -> {
        return create(engine, table, operation, commit);
      }
      case "append" -> {
        TransactionBuilder builder = table.createTransactionBuilder(engine, ENGINE_INFO, Operation.WRITE);
        return append(engine, builder, operation.get("rows").textValue(), commit);
      }
      case "set-properties" -> {
        TransactionBuilder builder = table.createTransactionBuilder(engine, ENGINE_INFO, Operation.MANUAL_UPDATE);
        Map<String, String> values = new HashMap<>();
        Set<String> removed = new HashSet<>();
        operation.get("properties").fields().forEachRemaining(entry -> {
          if (entry.getValue().isNull()) {
            removed.add(entry.getKey());
          } else {
            values.put(entry.getKey(), entry.getValue().textValue());
          }
        });
        builder = values.isEmpty() ? builder : builder.withTableProperties(engine, values);
        builder = removed.isEmpty() ? builder : builder.withTablePropertiesRemoved(removed);
        return commit(engine, build(engine, builder, commit), CloseableIterable.emptyIterable(), commit);
      }
      case "checkpoint" -> {
        if (operation.hasNonNull("form")) {
          throw new Refusal("unsupported", "operation", "the kernel chooses the form of a checkpoint");
        }
        checkpoint(engine, table);
        return answer(false, null);
      }
      case "checksum" -> {
        table.checksum(engine, table.getLatestSnapshot(engine).getVersion());
        return answer(false, null);
      }
      default -> throw new Refusal("unsupported", "operation", "the kernel does not offer the kind " + kind);
    }
  }

  private static void checkpoint(Engine engine, Table table) throws IOException {
    Snapshot snapshot = table.getLatestSnapshot(engine);
    try {
      table.checkpoint(engine, snapshot.getVersion());
    } catch (CheckpointAlreadyExistsException ignored) {
      return; // there is nothing to do
    }
  }

  private static Map<String, Object> create(Engine engine, Table table, JsonNode operation, JsonNode commit)
      throws IOException {
    StructType schema = DataTypeJsonSerDe.deserializeStructType(operation.get("schema").textValue());
    TransactionBuilder builder = table.createTransactionBuilder(engine, ENGINE_INFO, Operation.CREATE_TABLE);
    builder = builder.withSchema(engine, schema);
    List<String> partitionBy = new ArrayList<>();
    operation.path("partition_by").forEach(each -> partitionBy.add(each.textValue()));
    if (!partitionBy.isEmpty()) {
      builder = builder.withPartitionColumns(engine, partitionBy);
    }
    Map<String, String> properties = new HashMap<>();
    operation.path("properties").fields().forEachRemaining(each -> properties.put(each.getKey(), each.getValue().textValue()));
    if (!properties.isEmpty()) {
      builder = builder.withTableProperties(engine, properties);
    }
    if (operation.hasNonNull("rows")) {
      return append(engine, builder, operation.get("rows").textValue(), commit);
    }
    return commit(engine, build(engine, builder, commit), CloseableIterable.emptyIterable(), commit);
  }

  private static Transaction build(Engine engine, TransactionBuilder builder, JsonNode commit) {
    if (commit.hasNonNull("txn")) {
      JsonNode txn = commit.get("txn");
      builder = builder.withTransactionId(engine, txn.get("app_id").textValue(), txn.get("version").longValue());
    }
    if (commit.hasNonNull("domains")) {
      builder = builder.withDomainMetadataSupported();
    }
    Transaction transaction = builder.build(engine);
    commit.path("domains").fields().forEachRemaining(each -> {
      if (each.getValue().isNull()) {
        transaction.removeDomainMetadata(each.getKey());
      } else {
        transaction.addDomainMetadata(each.getKey(), each.getValue().textValue());
      }
    });
    return transaction;
  }

  /** Append the rows of an Arrow IPC file; the rows of each combination of partition values are written apart. */
  private static Map<String, Object> append(Engine engine, TransactionBuilder builder, String path, JsonNode commit)
      throws IOException {
    Transaction transaction = build(engine, builder, commit);
    StructType schema = transaction.getSchema(engine);
    List<String> names = transaction.getPartitionColumns(engine);
    Map<Map<String, Literal>, List<List<Object>>> parts = new LinkedHashMap<>();
    for (List<Object> row : ArrowRows.read(path, schema)) {
      parts.computeIfAbsent(partitionValues(row, schema, names), key -> new ArrayList<>()).add(row);
    }
    Row state = transaction.getTransactionState(engine);
    List<Row> actions = new ArrayList<>();
    for (Map.Entry<Map<String, Literal>, List<List<Object>>> part : parts.entrySet()) {
      FilteredColumnarBatch batch =
          new FilteredColumnarBatch(batch(schema, part.getValue()), Optional.empty());
      CloseableIterator<FilteredColumnarBatch> physical =
          Transaction.transformLogicalData(engine, state, Utils.singletonCloseableIterator(batch), part.getKey());
      DataWriteContext context = Transaction.getWriteContext(engine, state, part.getKey());
      CloseableIterator<DataFileStatus> files =
          engine
              .getParquetHandler()
              .writeParquetFiles(context.getTargetDirectory(), physical, context.getStatisticsColumns());
      try (CloseableIterator<Row> added = Transaction.generateAppendActions(engine, state, files, context)) {
        added.forEachRemaining(actions::add);
      }
    }
    return commit(
        engine, transaction, CloseableIterable.inMemoryIterable(Utils.toCloseableIterator(actions.iterator())), commit);
  }

  private static DefaultColumnarBatch batch(StructType schema, List<List<Object>> rows) {
    ColumnVector[] columns = new ColumnVector[schema.length()];
    for (int i = 0; i < columns.length; i++) {
      int ordinal = i;
      List<Object> values = rows.stream().map(row -> row.get(ordinal)).collect(Collectors.toList());
      columns[ordinal] = VectorUtils.buildColumnVector(values, schema.at(ordinal).getDataType());
    }
    return new DefaultColumnarBatch(rows.size(), schema, columns);
  }

  private static Map<String, Object> commit(
      Engine engine, Transaction transaction, CloseableIterable<Row> actions, JsonNode commit) throws IOException {
    TransactionCommitResult result = transaction.commit(engine, actions);
    if (commit.path("hooks").asBoolean(true)) {
      for (PostCommitHook hook : result.getPostCommitHooks()) {
        try {
          hook.threadSafeInvoke(engine);
        } catch (IOException | RuntimeException error) {
          error.printStackTrace(); // the version is committed, whatever becomes of its checkpoint and checksum
        }
      }
    }
    return answer(true, result.getVersion());
  }

  private static Map<String, Object> answer(boolean committed, Long version) {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("committed", committed);
    answer.put("version", version);
    return answer;
  }

  private static Map<String, Literal> partitionValues(List<Object> row, StructType schema, List<String> names) {
    Map<String, Literal> values = new LinkedHashMap<>();
    for (String name : names) {
      int ordinal = schema.indexOf(name);
      values.put(name, Values.literal(row.get(ordinal), schema.at(ordinal).getDataType()));
    }
    return values;
  }
}
