package deltaspec.common;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import deltaspec.common.Errors.Refusal;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.stream.StreamSupport;

/** Answers the candidate protocol: one JSON object per line on stdin and stdout, rows as Arrow IPC files. */
public final class Harness {
  private static final int PROTOCOL_VERSION = 1;
  private static final ObjectMapper JSON = new ObjectMapper();

  private final PrintStream answers =
      new PrintStream(new FileOutputStream(FileDescriptor.out), true, StandardCharsets.UTF_8);
  private final Map<String, Function<JsonNode, ?>> operations = new LinkedHashMap<>();
  private final Supplier<Map<String, Object>> capabilities;
  private final Errors errors;

  /**
   * Create a harness, before which the library must not print: stdout belongs to the answers.
   *
   * @param capabilities what `hello` answers besides the protocol, the language and the operations
   */
  public Harness(Supplier<Map<String, Object>> capabilities, Errors errors) {
    System.setOut(System.err);
    this.capabilities = capabilities;
    this.errors = errors;
  }

  /** Offer an operation; the function gets the request and returns the answer. */
  public Harness offer(String operation, Function<JsonNode, ?> function) {
    operations.put(operation, function);
    return this;
  }

  /** Answer requests until `bye` or the end of stdin. */
  public void serve() throws IOException {
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
  private ObjectNode answer(JsonNode request) {
    ObjectNode answer = JSON.createObjectNode();
    answer.set("seq", request.get("seq"));
    try {
      answer.set("ok", JSON.valueToTree(runOperation(request)));
    } catch (Throwable error) {
      answer.set("error", JSON.valueToTree(errors.describe(error)));
    }
    return answer;
  }

  private Object runOperation(JsonNode request) {
    String name = request.path("op").asText();
    if (name.equals("hello")) {
      return describe(request);
    }
    if (name.equals("bye")) {
      return Map.of();
    }
    if (!operations.containsKey(name)) {
      throw new Refusal("unsupported", "operation", "unknown operation " + name);
    }
    return operations.get(name).apply(request);
  }

  private Map<String, Object> describe(JsonNode request) {
    JsonNode versions = request.path("protocol");
    if (StreamSupport.stream(versions.spliterator(), false).noneMatch(each -> each.intValue() == PROTOCOL_VERSION)) {
      throw new Refusal("unsupported", "protocol", "only version 1 of the candidate protocol is supported");
    }
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("protocol", PROTOCOL_VERSION);
    answer.put("language", "java");
    answer.put("ops", operations.keySet());
    answer.putAll(capabilities.get());
    return answer;
  }
}
