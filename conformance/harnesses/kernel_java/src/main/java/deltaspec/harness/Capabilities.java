package deltaspec.harness;

import io.delta.kernel.Table;
import io.delta.kernel.internal.actions.Format;
import io.delta.kernel.internal.actions.Metadata;
import io.delta.kernel.internal.tablefeatures.TableFeature;
import io.delta.kernel.internal.tablefeatures.TableFeatures;
import io.delta.kernel.internal.util.VectorUtils;
import io.delta.kernel.types.StringType;
import io.delta.kernel.types.StructType;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/** What the kernel supports. */
final class Capabilities {
  private Capabilities() {}

  static Map<String, Object> describe() {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("name", "kernel_java");
    answer.put("version", kernelVersion());
    answer.put("kinds", Writes.KINDS);
    answer.put("want", List.of("files", "transactions", "domains"));
    answer.put("at", List.of("version", "timestamp_ms"));
    answer.put("row_ids", true);
    answer.put("predicate", "prunes");
    answer.put("reader_features", readerFeatures());
    answer.put("writer_features", writerFeatures());
    answer.put("max_reader_version", TableFeatures.TABLE_FEATURES_MIN_READER_VERSION);
    answer.put("max_writer_version", TableFeatures.TABLE_FEATURES_MIN_WRITER_VERSION);
    // The default engine has no Parquet reader for the last three.
    answer.put("types_not_supported", List.of("void", "variant", "geometry", "geography"));
    return answer;
  }

  /** Features of which the kernel writes only tables that do not use them. */
  private static final Set<String> NOT_IN_USE = Set.of("checkConstraints", "generatedColumns", "identityColumns");

  /** Return the features of which the kernel says that it writes tables with them. */
  private static List<String> writerFeatures() {
    return TableFeatures.TABLE_FEATURES.stream()
        .filter(feature -> feature.hasKernelWriteSupport(new Metadata(
            "table",
            Optional.empty(),
            Optional.empty(),
            new Format("parquet", Map.of()),
            "{\"type\":\"struct\",\"fields\":[]}",
            new StructType(),
            VectorUtils.buildArrayValue(List.of(), StringType.STRING),
            Optional.empty(),
            VectorUtils.stringStringMapValue(Map.of()))))
        .filter(feature -> feature != TableFeatures.CATALOG_MANAGED_RW_FEATURE)
        .map(TableFeature::featureName)
        .filter(name -> !NOT_IN_USE.contains(name))
        .toList();
  }

  private static String kernelVersion() {
    return Table.class.getPackage().getImplementationVersion();
  }

  /** Return the reader features of which the kernel says that it reads them. `catalogManaged` needs a catalog. */
  private static List<String> readerFeatures() {
    return TableFeatures.TABLE_FEATURES.stream()
        .filter(feature -> feature.isReaderWriterFeature() && feature.hasKernelReadSupport())
        .filter(feature -> feature != TableFeatures.CATALOG_MANAGED_RW_FEATURE)
        .map(TableFeature::featureName)
        .toList();
  }
}
