package deltaspec.standalone;

import com.fasterxml.jackson.databind.JsonNode;
import deltaspec.standalone.Errors.Refusal;
import io.delta.standalone.package$;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the library supports. */
final class Capabilities {
  private static final int PROTOCOL_VERSION = 1;

  private Capabilities() {}

  static Map<String, Object> describe(JsonNode request) {
    boolean known = false;
    for (JsonNode version : request.path("protocol")) {
      known |= version.intValue() == PROTOCOL_VERSION;
    }
    if (!known) {
      throw new Refusal("unsupported", "protocol", "only version 1 of the candidate protocol is supported");
    }
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("name", "delta_standalone");
    answer.put("version", package$.MODULE$.VERSION());
    answer.put("protocol", PROTOCOL_VERSION);
    answer.put("language", "java");
    answer.put("ops", List.of("snapshot", "scan"));
    answer.put("want", List.of("files", "transactions"));
    answer.put("at", List.of("version", "timestamp_ms"));
    answer.put("row_ids", false);
    answer.put("predicate", "prunes");
    answer.put("reader_features", List.of());
    answer.put("max_reader_version", 1);
    answer.put("types_not_supported", List.of());
    return answer;
  }
}
