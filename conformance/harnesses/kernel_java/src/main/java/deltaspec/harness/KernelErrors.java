package deltaspec.harness;

import com.fasterxml.jackson.core.JacksonException;
import deltaspec.common.Errors.Entry;
import deltaspec.common.Errors;
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
import java.util.List;
import java.util.Map;
import org.apache.parquet.hadoop.BadConfigurationException;
import org.apache.parquet.io.ParquetDecodingException;

/** Errors of the kernel as categories of the candidate protocol. */
final class KernelErrors {
  /** The kernel has no classes of their own for absent versions, absent timestamps and types, only messages. */
  static final Errors CATEGORIES =
      new Errors(List.of(
          Entry.of(ConcurrentWriteException.class, "conflict"),
          Entry.of(MaxCommitRetryLimitReachedException.class, "conflict"),
          Entry.of(TableAlreadyExistsException.class, "conflict"),
          Entry.of(IOException.class, "No space left|File too large|Permission denied|Mkdirs failed", "io"),
          Entry.of(UnsupportedProtocolVersionException.class, "unsupported"),
          Entry.of(UnsupportedTableFeatureException.class, "unsupported"),
          Entry.of(TableNotFoundException.class, "not-found"),
          Entry.of(StartVersionNotFoundException.class, "not-found"),
          Entry.of(CommitRangeNotFoundException.class, "not-found"),
          Entry.of(InvalidTableException.class, "corrupt"),
          Entry.of(InvalidConfigurationValueException.class, "compression\\.codec", "unsupported"),
          Entry.of(InvalidConfigurationValueException.class, "corrupt"),
          Entry.of(UnknownConfigurationException.class, "corrupt"),
          Entry.of(KernelException.class, "Cannot load table version", "not-found"),
          Entry.of(KernelException.class, "The provided timestamp .* is (before|after)", "not-found"),
          Entry.of(KernelException.class, "Row tracking is not enabled", "invalid-request"),
          Entry.of(KernelException.class, "is an internal property", "invalid-request"),
          Entry.of(KernelException.class, "[Uu]nsupported|not support|requires \\w+ to be enabled", "unsupported"),
          // A compression codec that is not installed.
          Entry.of(BadConfigurationException.class, "unsupported"),
          Entry.of(UnsupportedOperationException.class, "unsupported"),
          Entry.of(IllegalArgumentException.class, "currently unsupported", "unsupported"),
          Entry.of(FileNotFoundException.class, "corrupt"),
          Entry.of(EOFException.class, "corrupt"),
          Entry.of(JacksonException.class, "corrupt"),
          Entry.of(DateTimeException.class, "corrupt"),
          Entry.of(ParquetDecodingException.class, "corrupt"),
          Entry.of(IOException.class, "io")), KernelErrors::listFeatures);

  private KernelErrors() {}

  private static Map<String, Object> listFeatures(Throwable error) {
    return error instanceof UnsupportedTableFeatureException unsupported
        ? Map.of("features", unsupported.getUnsupportedFeatures())
        : Map.of();
  }
}
