//! Predicates of the protocol as predicates of the kernel.
//!
//! `["and", t, t]`, `["or", t, t]`, `["not", t]`, `["is_null", x]`, `["is_not_null", x]`, `[op, x, x]`;
//! x is `["col", part, ...]` or `["lit", type, text or null]`.

use delta_kernel::expressions::{ColumnName, Expression, Predicate, Scalar, lit, null_lit};
use delta_kernel::schema::PrimitiveType;
use serde_json::Value;

use crate::errors::Refusal;

pub fn parse_predicate(tree: &Value) -> Result<Predicate, Refusal> {
    let (operator, arguments) = split(tree)?;
    Ok(match (operator, arguments) {
        ("and", [left, right]) => Predicate::and(parse_predicate(left)?, parse_predicate(right)?),
        ("or", [left, right]) => Predicate::or(parse_predicate(left)?, parse_predicate(right)?),
        ("not", [inner]) => Predicate::not(parse_predicate(inner)?),
        ("is_null", [value]) => Predicate::is_null(parse_value(value)?),
        ("is_not_null", [value]) => Predicate::is_not_null(parse_value(value)?),
        (_, [left, right]) => compare(operator, parse_value(left)?, parse_value(right)?)?,
        _ => return Err(invalid(tree)),
    })
}

fn compare(operator: &str, left: Expression, right: Expression) -> Result<Predicate, Refusal> {
    Ok(match operator {
        "=" => Predicate::eq(left, right),
        "!=" => Predicate::ne(left, right),
        "<" => Predicate::lt(left, right),
        "<=" => Predicate::le(left, right),
        ">" => Predicate::gt(left, right),
        ">=" => Predicate::ge(left, right),
        "<=>" => Predicate::not(Predicate::distinct(left, right)),
        _ => return Err(Refusal::invalid_request(format!("unknown operator {operator:?} in a predicate"))),
    })
}

fn parse_value(tree: &Value) -> Result<Expression, Refusal> {
    let (kind, arguments) = split(tree)?;
    match (kind, arguments) {
        ("col", path) => {
            let names: Option<Vec<&str>> = path.iter().map(Value::as_str).collect();
            Ok(Expression::column(ColumnName::new(names.ok_or_else(|| invalid(tree))?)))
        }
        ("lit", [type_name, text]) => parse_literal(type_name, text),
        _ => Err(invalid(tree)),
    }
}

/// Parse the text of a literal: that of a partition value, or hexadecimal digits for binary.
fn parse_literal(type_name: &Value, text: &Value) -> Result<Expression, Refusal> {
    let data_type: PrimitiveType = serde_json::from_value(type_name.clone())
        .map_err(|error| Refusal::invalid_request(format!("type of a literal: {error}")))?;
    let Some(text) = text.as_str() else {
        return Ok(null_lit(data_type));
    };
    match data_type {
        PrimitiveType::String => Ok(lit(text)),
        PrimitiveType::Binary => parse_hexadecimal(text)
            .map(|bytes| lit(Scalar::Binary(bytes)))
            .ok_or_else(|| Refusal::invalid_request(format!("{text:?} is not hexadecimal"))),
        _ => data_type.parse_scalar(text).map(lit).map_err(|error| Refusal::invalid_request(error.to_string())),
    }
}

fn parse_hexadecimal(text: &str) -> Option<Vec<u8>> {
    (0..text.len()).step_by(2).map(|start| u8::from_str_radix(text.get(start..start + 2)?, 16).ok()).collect()
}

fn split(tree: &Value) -> Result<(&str, &[Value]), Refusal> {
    match tree.as_array().map(Vec::as_slice) {
        Some([Value::String(head), rest @ ..]) => Ok((head, rest)),
        _ => Err(invalid(tree)),
    }
}

fn invalid(tree: &Value) -> Refusal {
    Refusal::invalid_request(format!("invalid predicate {tree}"))
}
