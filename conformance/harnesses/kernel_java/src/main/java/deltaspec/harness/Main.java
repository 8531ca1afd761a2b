package deltaspec.harness;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltaspec.harness.Errors.Refusal;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.Engine;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;

/**
 * Candidate of deltaspec: the Java Delta Kernel with its default engine. Answers the candidate protocol: one JSON
 * object per line on stdin and stdout, rows as Arrow IPC files.
 */
public final class Main {
  static final ObjectMapper JSON = new ObjectMapper();

  private final Engine engine = DefaultEngine.create(new Configuration());

  public static void main(String[] arguments) throws IOException {
    PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    Main main = new Main();
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      JsonNode request = JSON.readTree(line);
      answers.println(main.answer(request));
      if (request.path("op").asText().equals("bye")) {
        break;
      }
    }
  }

  /** Return the answer to a request; every error, also of the JVM, becomes an error answer. */
  private ObjectNode answer(JsonNode request) {
    ObjectNode answer = JSON.createObjectNode();
    answer.set("seq", request.get("seq"));
    try {
      answer.set("ok", JSON.valueToTree(runOperation(request)));
    } catch (Throwable error) {
      answer.set("error", JSON.valueToTree(Errors.describe(error)));
    }
    return answer;
  }

  private Object runOperation(JsonNode request) throws IOException {
    String operation = request.path("op").asText();
    return switch (operation) {
      case "hello" -> Capabilities.describe(request);
      case "snapshot" -> State.readSnapshot(engine, request);
      case "scan" -> Rows.scan(engine, request);
      case "apply" -> Writes.apply(engine, request);
      case "bye" -> Map.of();
      default -> throw new Refusal("unsupported", "operation", "unknown operation " + operation);
    };
  }
}
