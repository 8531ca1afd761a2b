package deltaspec.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltaspec.standalone.Errors.Refusal;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.TimeZone;

/**
 * Candidate of deltaspec: Delta Standalone. Answers the candidate protocol: one JSON object per line on stdin and
 * stdout, rows as Arrow IPC files.
 */
public final class Main {
  static final ObjectMapper JSON = new ObjectMapper();

  private Main() {}

  public static void main(String[] arguments) throws IOException {
    // The library reads timestamps and dates in the zone of the JVM.
    TimeZone.setDefault(TimeZone.getTimeZone("UTC"));
    PrintStream answers = new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
    System.setOut(System.err);
    BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = requests.readLine(); line != null; line = requests.readLine()) {
      JsonNode request = JSON.readTree(line);
      answers.println(answer(request));
      if (request.path("op").asText().equals("bye")) {
        break;
      }
    }
  }

  /** Return the answer to a request; every error, also of the JVM, becomes an error answer. */
  private static ObjectNode answer(JsonNode request) {
    ObjectNode answer = JSON.createObjectNode();
    answer.set("seq", request.get("seq"));
    try {
      answer.set("ok", JSON.valueToTree(runOperation(request)));
    } catch (Throwable error) {
      answer.set("error", JSON.valueToTree(Errors.describe(error)));
    }
    return answer;
  }

  private static Object runOperation(JsonNode request) throws IOException {
    String operation = request.path("op").asText();
    return switch (operation) {
      case "hello" -> Capabilities.describe(request);
      case "snapshot" -> State.readSnapshot(request);
      case "scan" -> Rows.scan(request);
      case "bye" -> Map.of();
      default -> throw new Refusal("unsupported", "operation", "unknown operation " + operation);
    };
  }
}
