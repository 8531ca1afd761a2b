package deltaspec.harness;

import com.fasterxml.jackson.core.JacksonException;
import io.delta.kernel.exceptions.CommitRangeNotFoundException;
import io.delta.kernel.exceptions.ConcurrentWriteException;
import io.delta.kernel.exceptions.InvalidConfigurationValueException;
import io.delta.kernel.exceptions.InvalidTableException;
import io.delta.kernel.exceptions.KernelException;
import io.delta.kernel.exceptions.MaxCommitRetryLimitReachedException;
import io.delta.kernel.exceptions.StartVersionNotFoundException;
import io.delta.kernel.exceptions.TableAlreadyExistsException;
import io.delta.kernel.exceptions.TableNotFoundException;
import io.delta.kernel.exceptions.UnknownConfigurationException;
import io.delta.kernel.exceptions.UnsupportedProtocolVersionException;
import io.delta.kernel.exceptions.UnsupportedTableFeatureException;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.time.DateTimeException;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.parquet.hadoop.BadConfigurationException;
import org.apache.parquet.io.ParquetDecodingException;

/** Errors of the kernel as categories of the candidate protocol. */
final class Errors {
  private Errors() {}

  /** An error of the harness itself. */
  static final class Refusal extends RuntimeException {
    final String category;
    final String code;

    Refusal(String category, String code, String message) {
      super(message);
      this.category = category;
      this.code = code;
    }
  }

  /** An error with the phase in which it occurred. */
  static final class InPhase extends RuntimeException {
    final String phase;

    InPhase(String phase, Throwable cause) {
      super(cause);
      this.phase = phase;
    }
  }

  /** The category of a class of errors, if the message matches. The first entry that fits decides. */
  private record Entry(Class<? extends Throwable> type, Pattern message, String category) {
    Entry(Class<? extends Throwable> type, String category) {
      this(type, Pattern.compile(""), category);
    }

    Entry(Class<? extends Throwable> type, String message, String category) {
      this(type, Pattern.compile(message), category);
    }

    boolean fits(Throwable error) {
      return type.isInstance(error) && message.matcher(String.valueOf(error.getMessage())).find();
    }
  }

  /** The kernel has no classes of their own for absent versions, absent timestamps and types, only messages. */
  private static final List<Entry> TABLE =
      List.of(
          new Entry(ConcurrentWriteException.class, "conflict"),
          new Entry(MaxCommitRetryLimitReachedException.class, "conflict"),
          new Entry(TableAlreadyExistsException.class, "conflict"),
          new Entry(IOException.class, "No space left|File too large|Permission denied|Mkdirs failed", "io"),
          new Entry(UnsupportedProtocolVersionException.class, "unsupported"),
          new Entry(UnsupportedTableFeatureException.class, "unsupported"),
          new Entry(TableNotFoundException.class, "not-found"),
          new Entry(StartVersionNotFoundException.class, "not-found"),
          new Entry(CommitRangeNotFoundException.class, "not-found"),
          new Entry(InvalidTableException.class, "corrupt"),
          new Entry(InvalidConfigurationValueException.class, "corrupt"),
          new Entry(UnknownConfigurationException.class, "corrupt"),
          new Entry(KernelException.class, "Cannot load table version", "not-found"),
          new Entry(KernelException.class, "The provided timestamp .* is (before|after)", "not-found"),
          new Entry(KernelException.class, "Row tracking is not enabled", "invalid-request"),
          new Entry(KernelException.class, "[Uu]nsupported|not support", "unsupported"),
          // A compression codec that is not installed.
          new Entry(BadConfigurationException.class, "unsupported"),
          new Entry(UnsupportedOperationException.class, "unsupported"),
          new Entry(IllegalArgumentException.class, "currently unsupported", "unsupported"),
          new Entry(FileNotFoundException.class, "corrupt"),
          new Entry(EOFException.class, "corrupt"),
          new Entry(JacksonException.class, "corrupt"),
          new Entry(DateTimeException.class, "corrupt"),
          new Entry(ParquetDecodingException.class, "corrupt"),
          new Entry(IOException.class, "io"));

  /** Return the error answer. */
  static Map<String, Object> describe(Throwable thrown) {
    Map<String, Object> answer = new LinkedHashMap<>();
    Throwable error = thrown;
    if (thrown instanceof InPhase inPhase) {
      answer.put("phase", inPhase.phase);
      error = thrown.getCause();
    }
    answer.put("message", describeCauses(error));
    if (error instanceof Refusal refusal) {
      answer.put("category", refusal.category);
      answer.put("code", refusal.code);
      return answer;
    }
    answer.put("category", category(error));
    answer.put("code", error.getClass().getSimpleName());
    answer.put("native", error.getClass().getName());
    if (error instanceof UnsupportedTableFeatureException unsupported) {
      answer.put("features", unsupported.getUnsupportedFeatures());
    }
    error.printStackTrace();
    return answer;
  }

  /** Return the category of the first entry of the table that fits the error or one of its causes. */
  private static String category(Throwable error) {
    List<Throwable> chain = Stream.iterate(error, Objects::nonNull, Throwable::getCause).toList();
    return TABLE.stream()
        .filter(entry -> chain.stream().anyMatch(entry::fits))
        .map(Entry::category)
        .findFirst()
        .orElse("internal");
  }

  private static String describeCauses(Throwable error) {
    StringBuilder text = new StringBuilder(String.valueOf(error.getMessage()));
    for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
      text.append("; caused by ").append(cause);
    }
    return text.toString();
  }
}
