package deltaspec.standalone;

import io.delta.standalone.package$;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What the library supports. */
final class Capabilities {
  private Capabilities() {}

  static Map<String, Object> describe() {
    Map<String, Object> answer = new LinkedHashMap<>();
    answer.put("name", "delta_standalone");
    answer.put("version", package$.MODULE$.VERSION());
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
