package deltaspec.standalone;

import deltaspec.common.Harness;
import java.io.IOException;
import java.util.TimeZone;

/** Candidate of deltaspec: Delta Standalone. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws IOException {
    // The library reads timestamps and dates in the zone of the JVM.
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    new Harness(Capabilities::describe, StandaloneErrors.CATEGORIES)
        .offer("snapshot", State::readSnapshot)
        .offer("scan", Rows::scan)
        .serve();
  }
}
