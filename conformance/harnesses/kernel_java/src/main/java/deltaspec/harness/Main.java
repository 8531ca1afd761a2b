package deltaspec.harness;

import deltaspec.common.Harness;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.Engine;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;

/** Candidate of deltaspec: the Java Delta Kernel with its default engine. */
public final class Main {
  private Main() {}

  public static void main(String[] arguments) throws IOException {
    Harness harness = new Harness(Capabilities::describe, KernelErrors.CATEGORIES);
    Engine engine = DefaultEngine.create(new Configuration());
    harness
        .offer("snapshot", request -> State.readSnapshot(engine, request))
        .offer("scan", request -> Rows.scan(engine, request))
        .offer("apply", request -> Writes.apply(engine, request))
        .serve();
  }
}
