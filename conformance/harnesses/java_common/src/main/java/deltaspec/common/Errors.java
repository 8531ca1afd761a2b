package deltaspec.common;

import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Errors of a library as categories of the candidate protocol.
 *
 * @param entries the first entry that fits an error or one of its causes decides; without one, the category is internal
 * @param details further fields of the answer for an error
 */
public record Errors(List<Entry> entries, Function<Throwable, Map<String, Object>> details) {
  public Errors(List<Entry> entries) {
    this(entries, error -> Map.of());
  }

  /** An error of the harness itself. */
  public static final class Refusal extends RuntimeException {
    private final String category;
    private final String code;

    public Refusal(String category, String code, String message) {
      super(message);
      this.category = category;
      this.code = code;
    }
  }

  /** An error with the phase in which it occurred. */
  private static final class InPhase extends RuntimeException {
    private final String phase;

    InPhase(String phase, Throwable cause) {
      super(cause);
      this.phase = phase;
    }
  }

  /** The category of errors of a type, if their message matches. */
  public record Entry(Predicate<Throwable> type, Pattern message, String category) {
    /** Return the entry of a class and its subclasses. */
    public static Entry of(Class<? extends Throwable> type, String category) {
      return of(type, "", category);
    }

    public static Entry of(Class<? extends Throwable> type, String message, String category) {
      return new Entry(type::isInstance, Pattern.compile(message), category);
    }

    /** Return the entry of classes that are internal or shaded: one name of several, separated by bars. */
    public static Entry named(String names, String category) {
      Pattern pattern = Pattern.compile(names);
      Predicate<Throwable> type =
          error ->
              Stream.<Class<?>>iterate(error.getClass(), Objects::nonNull, Class::getSuperclass)
                  .anyMatch(each -> pattern.matcher(each.getSimpleName()).matches());
      return new Entry(type, Pattern.compile(""), category);
    }

    boolean fits(Throwable error) {
      return type.test(error) && message.matcher(String.valueOf(error.getMessage())).find();
    }
  }

  /** Return the result of an action, whose errors occur in a phase of the candidate protocol. */
  public static <T> T inPhase(String phase, Callable<T> action) {
    try {
      return action.call();
    } catch (Exception error) {
      throw new InPhase(phase, error);
    }
  }

  /** Return the error answer. */
  Map<String, Object> describe(Throwable thrown) {
    Map<String, Object> answer = new LinkedHashMap<>();
    Throwable error = thrown;
    if (thrown instanceof InPhase inPhase) {
      answer.put("phase", inPhase.phase);
      error = thrown.getCause();
    }
    answer.put("message", describeCauses(error));
    if (error instanceof Refusal refusal) {
      answer.put("category", refusal.category);
      answer.put("code", refusal.code);
      return answer;
    }
    answer.put("category", findCategory(error));
    answer.put("code", error.getClass().getSimpleName());
    answer.put("native", error.getClass().getName());
    answer.putAll(details.apply(error));
    error.printStackTrace();
    return answer;
  }

  private String findCategory(Throwable error) {
    List<Throwable> chain = Stream.iterate(error, Objects::nonNull, Throwable::getCause).toList();
    return entries.stream()
        .filter(entry -> chain.stream().anyMatch(entry::fits))
        .map(Entry::category)
        .findFirst()
        .orElse("internal");
  }

  private static String describeCauses(Throwable error) {
    StringBuilder text = new StringBuilder(String.valueOf(error.getMessage()));
    for (Throwable cause = error.getCause(); cause != null; cause = cause.getCause()) {
      text.append("; caused by ").append(cause);
    }
    return text.toString();
  }
}
