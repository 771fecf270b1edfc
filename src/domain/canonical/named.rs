//! A value whose members have names: a list is never taken for an object.
//!
//! serde fills the members of a struct from a list too, in the order of the source. To whoever
//! wrote the list it meant something else.

use serde::de::value::{MapDeserializer, SeqDeserializer};
use serde::de::{Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Error, Value};

/// A value that is read by the names of its members, at every depth.
pub(super) struct Named(pub(super) Value);

impl IntoDeserializer<'_, Error> for Named {
    type Deserializer = Self;
    fn into_deserializer(self) -> Self {
        self
    }
}

impl<'de> Deserializer<'de> for Named {
    type Error = Error;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        match self.0 {
            Value::Array(items) => {
                let mut items = SeqDeserializer::new(items.into_iter().map(Named));
                let value = visitor.visit_seq(&mut items)?;
                items.end().map(|()| value)
            }
            Value::Object(members) => {
                let members = members.into_iter().map(|(name, value)| (name, Self(value)));
                let mut members = MapDeserializer::new(members);
                let value = visitor.visit_map(&mut members)?;
                members.end().map(|()| value)
            }
            other => other.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _members: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        if self.0.is_array() {
            return Err(Error::invalid_type(Unexpected::Seq, &visitor));
        }
        self.deserialize_any(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.0.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.0.deserialize_enum(name, variants, visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf unit
        unit_struct seq tuple tuple_struct map identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use crate::domain::canonical::from_value;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Outer {
        inner: Option<Inner>,
        items: Vec<Inner>,
    }

    #[derive(Debug, PartialEq, Deserialize)]
    struct Inner {
        count: u64,
    }

    #[test]
    fn a_list_is_never_an_object() {
        let sound = json!({"inner": {"count": 1}, "items": [{"count": 2}]});
        let expected = Outer { inner: Some(Inner { count: 1 }), items: vec![Inner { count: 2 }] };
        assert_eq!(from_value::<Outer>(sound), Ok(expected));
        for (wrong, place) in [
            (json!([{"count": 1}, []]), ""),
            (json!({"inner": [1], "items": []}), "inner: "),
            (json!({"inner": null, "items": [[2]]}), "items[0]: "),
            (json!({"inner": null, "items": {}}), "items: "),
        ] {
            let error = from_value::<Outer>(wrong).expect_err("no such shape").to_string();
            let told = format!("{place}invalid type: ");
            assert!(error.starts_with(&told), "{told}: {error}");
        }
    }
}
