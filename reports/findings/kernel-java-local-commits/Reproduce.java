import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.JsonHandler;
import io.delta.kernel.internal.data.GenericRow;
import io.delta.kernel.internal.util.Utils;
import io.delta.kernel.types.StringType;
import io.delta.kernel.types.StructType;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.conf.Configuration;

/** Two writers create the same commit file at once; exactly one of them may succeed. */
public class Reproduce {
    private static final StructType SCHEMA = new StructType().add("writer", StringType.STRING);
    private static final int ATTEMPTS = 5_000;

    public static void main(String[] arguments) throws Exception {
        Path log = Files.createDirectories(Files.createTempDirectory("table").resolve("_delta_log"));
        CyclicBarrier start = new CyclicBarrier(2);
        ExecutorService threads = Executors.newFixedThreadPool(2);
        int both = 0;
        int neither = 0;
        for (int version = 0; version < ATTEMPTS; version++) {
            Path commit = log.resolve(String.format("%020d.json", version));
            List<Future<Boolean>> results = new ArrayList<>();
            for (String writer : List.of("a", "b")) {
                results.add(threads.submit(write(commit, writer, start)));
            }
            int acknowledged = 0;
            for (Future<Boolean> result : results) {
                acknowledged += result.get() ? 1 : 0;
            }
            both += acknowledged == 2 ? 1 : 0;
            neither += acknowledged == 0 ? 1 : 0;
        }
        threads.shutdown();
        System.out.printf("%d versions; acknowledged to both writers: %d, to neither: %d%n", ATTEMPTS, both, neither);
    }

    private static Callable<Boolean> write(Path commit, String writer, CyclicBarrier start) {
        JsonHandler handler = DefaultEngine.create(new Configuration()).getJsonHandler(); // each writer has its engine
        Row action = new GenericRow(SCHEMA, Map.of(0, writer));
        return () -> {
            start.await();
            try {
                handler.writeJsonFileAtomically(commit.toString(), Utils.singletonCloseableIterator(action), false);
                return true;
            } catch (FileAlreadyExistsException exception) {
                return false;
            }
        };
    }
}
