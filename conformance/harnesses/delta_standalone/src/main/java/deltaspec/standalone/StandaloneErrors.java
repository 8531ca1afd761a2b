package deltaspec.standalone;

import deltaspec.common.Errors.Entry;
import deltaspec.common.Errors;
import io.delta.standalone.exceptions.DeltaConcurrentModificationException;
import io.delta.standalone.exceptions.DeltaStandaloneException;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.time.DateTimeException;
import java.util.List;

/** Errors of the library as categories of the candidate protocol. */
final class StandaloneErrors {
  /** Names stand for classes that are internal or shaded. The library has few classes, so messages decide. */
  static final Errors CATEGORIES =
      new Errors(List.of(
          Entry.of(DeltaConcurrentModificationException.class, "conflict"),
          Entry.named("InvalidProtocolVersionException", "unsupported"),
          Entry.of(IOException.class, "No space left|File too large|Permission denied", "io"),
          Entry.of(DeltaStandaloneException.class, "Cannot time travel|(before|after) the (earliest|latest)", "not-found"),
          Entry.of(IllegalArgumentException.class, "(before|after) the (earliest|latest)", "not-found"),
          Entry.of(DeltaStandaloneException.class, "No (commits|reproducible commits|delta log)", "not-found"),
          Entry.of(DeltaStandaloneException.class, "not supported|[Uu]nsupported", "unsupported"),
          Entry.named("BadConfigurationException", "unsupported"),
          Entry.of(UnsupportedOperationException.class, "unsupported"),
          Entry.of(FileNotFoundException.class, "corrupt"),
          Entry.of(EOFException.class, "corrupt"),
          Entry.named("JacksonException|JsonProcessingException|MappingException", "corrupt"),
          Entry.named("ParquetDecodingException", "corrupt"),
          Entry.of(DateTimeException.class, "corrupt"),
          Entry.of(DeltaStandaloneException.class, "corrupt"),
          Entry.of(RuntimeException.class, "is not a Parquet file|corrupted file", "corrupt"),
          Entry.of(IllegalStateException.class, "recovered|not contiguous|part\\(s\\) of the checkpoint", "corrupt"),
          Entry.of(IOException.class, "io")));

  private StandaloneErrors() {}
}
