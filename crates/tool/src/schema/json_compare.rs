//! Equality and order of JSON values by JSON Schema's rules: numbers compare by mathematical value.

use std::cmp::Ordering;

use serde_json::{Number, Value};

/// Compares two numbers exactly, of any size, written as integers or floats.
pub(super) fn compare_numbers(left: &Number, right: &Number) -> Ordering {
    match (as_i128(left), as_i128(right)) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => compare_mixed(left, to_f64(right)),
        (None, Some(right)) => compare_mixed(right, to_f64(left)).reverse(),
        (None, None) => to_f64(left).total_cmp(&to_f64(right)),
    }
}

/// Returns true if the number has no fraction: `3.0` is an integer.
pub(super) fn is_integral(number: &Number) -> bool {
    as_i128(number).is_some() || to_f64(number).fract() == 0.0
}

/// Returns true if two values are equal: `1` equals `1.0`.
pub(super) fn json_equal(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare_numbers(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| json_equal(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left.iter().all(|(key, left)| right.get(key).is_some_and(|right| json_equal(left, right)))
        }
        (left, right) => left == right,
    }
}

fn as_i128(number: &Number) -> Option<i128> {
    number.as_i64().map(i128::from).or_else(|| number.as_u64().map(i128::from))
}

fn to_f64(number: &Number) -> f64 {
    // `-0.0` and `0.0` are one number; `total_cmp` would order them.
    number.as_f64().unwrap_or(f64::NAN) + 0.0
}

fn compare_mixed(whole: i128, float: f64) -> Ordering {
    /// Beyond any `i64` or `u64`, well within `i128`.
    const BEYOND_64_BITS: f64 = 1e30;
    if float >= BEYOND_64_BITS {
        return Ordering::Less;
    }
    if float <= -BEYOND_64_BITS {
        return Ordering::Greater;
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "truncated on purpose, and |float| < 1e30 fits an i128"
    )]
    let truncated = float.trunc() as i128;
    whole.cmp(&truncated).then_with(|| 0.0_f64.total_cmp(&(float.fract() + 0.0)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_compare_by_value() {
        for (left, right, wanted) in [
            (json!(1), json!(1.0), Ordering::Equal),
            (json!(0), json!(-0.0), Ordering::Equal),
            (json!(0.0), json!(-0.0), Ordering::Equal),
            (json!(2), json!(1.5), Ordering::Greater),
            (json!(-1), json!(-1.5), Ordering::Greater),
            (json!(-2), json!(-1.5), Ordering::Less),
            (json!(u64::MAX), json!(u64::MAX - 1), Ordering::Greater),
            (json!(9_007_199_254_740_993_u64), json!(9_007_199_254_740_992.0), Ordering::Greater),
            (json!(i64::MIN), json!(1e300), Ordering::Less),
            (json!(1e300), json!(u64::MAX), Ordering::Greater),
        ] {
            assert_eq!(
                compare_numbers(left.as_number().unwrap(), right.as_number().unwrap()),
                wanted,
                "{left} {right}"
            );
        }
    }

    #[test]
    fn values_are_the_same_by_value() {
        assert!(json_equal(&json!({"a": [1, "x"]}), &json!({"a": [1.0, "x"]})));
        assert!(!json_equal(&json!({"a": 1}), &json!({"b": 1})));
        assert!(!json_equal(&json!([1]), &json!([1, 1])));
        assert!(!json_equal(&json!(1), &json!("1")));
    }
}
