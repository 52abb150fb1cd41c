use std::collections::BTreeMap;

use proptest::prelude::*;

use super::read::decoded;
use super::{Invalid, answer, fault, read};
use crate::supervisor::value::Value;

fn call(params: &str) -> Result<Vec<Value>, Invalid> {
    let text = format!("<?xml version='1.0'?>\n<methodCall><methodName>a.b</methodName>{params}</methodCall>\n");
    read(text.as_bytes()).map(|request| {
        assert_eq!(request.method, "a.b");
        request.params
    })
}

fn value(value: &str) -> Result<Value, Invalid> {
    call(&format!("<params>\n<param>\n<value>{value}</value>\n</param>\n</params>")).map(|mut values| values.remove(0))
}

#[test]
fn what_clients_send_is_read() {
    assert_eq!(call(""), Ok(vec![]));
    assert_eq!(call("<params/>"), Ok(vec![]));
    for (text, expected) in [
        ("a", Value::text("a")),
        ("", Value::text("")),
        ("<string>a &lt;&#98;&#x63;&amp;</string>", Value::text("a <bc&")),
        ("<string/>", Value::text("")),
        ("<string><![CDATA[<x>]]></string>", Value::text("<x>")),
        ("<int>-7</int>", Value::Int(-7)),
        ("<i4>7</i4>", Value::Int(7)),
        ("<boolean>1</boolean>", Value::Boolean(true)),
        ("<double>1.5</double>", Value::Double(1.5)),
        ("<base64>\naGFs\nbG8=\n</base64>", Value::text("hallo")),
        ("<array><data/></array>", Value::Array(vec![])),
        (
            "<array><data>\n<value><int>1</int></value><value>b</value></data></array>",
            Value::Array(vec![Value::Int(1), Value::text("b")]),
        ),
        ("<struct></struct>", Value::Struct(BTreeMap::new())),
        (
            "<struct><member><name>n</name><value><array><data><value>x</value></data></array></value></member></struct>",
            Value::structure([("n", Value::Array(vec![Value::text("x")]))]),
        ),
    ] {
        assert_eq!(value(text), Ok(expected), "{text}");
    }
    let two = "<params><param><value>a</value></param><param><value><int>1</int></value></param></params>";
    assert_eq!(call(two), Ok(vec![Value::text("a"), Value::Int(1)]));
}

#[test]
fn what_is_no_call_is_refused() {
    let deep = "<value><array><data>".repeat(40);
    for text in [
        "",
        "   ",
        "a",
        "<a>",
        "<methodCall></methodCall>",
        "<methodCall><methodName></methodName></methodCall>",
        "<methodCall><methodName>a</methodCall></methodName>",
        "<methodCall><methodName>a</methodName></methodCall><methodCall/>",
        "<!DOCTYPE x [<!ENTITY a 'b'>]><methodCall><methodName>a</methodName></methodCall>",
        "<methodCall><methodName>&x;</methodName></methodCall>",
        "<methodCall><methodName>a</methodName><params><param><value><int>x</int></value></param></params></methodCall>",
        "<methodCall><methodName>a</methodName><params><param><value><int>3000000000</int></value></param></params></methodCall>",
        "<methodCall><methodName>a</methodName></methodCall> x",
        &deep,
    ] {
        assert!(read(text.as_bytes()).is_err(), "{text}");
    }
    assert_eq!(read(b"<methodCall>\xff</methodCall>"), Err(Invalid("not UTF-8")));
}

#[test]
fn an_answer_is_xml_whatever_is_in_it() {
    let text = answer(&Value::text("a<&>\u{1b}[0m\r\n\u{ffff}"));
    assert!(text.contains("<string>a&lt;&amp;&gt;\u{fffd}[0m&#13;\n\u{fffd}</string>"), "{text}");
    let text = fault(10, "BAD_NAME: x");
    assert!(text.contains("<name>faultCode</name>\n<value><int>10</int></value>"), "{text}");
}

#[test]
fn base64_with_and_without_padding() {
    for (text, expected) in [("", Some("")), ("YQ==", Some("a")), ("YWI=", Some("ab")), ("YWJj", Some("abc"))] {
        assert_eq!(decoded(text).as_deref(), expected, "{text}");
    }
    for text in ["Y", "YQ=", "Y===", "Y!==", "/w==", "====", "YQ==YQ=="] {
        assert_eq!(decoded(text), None, "{text}");
    }
}

/// Any value that a client may send.
fn any_value() -> impl Strategy<Value = crate::supervisor::value::Value> {
    let leaf = prop_oneof![
        any::<i32>().prop_map(Value::Int),
        any::<bool>().prop_map(Value::Boolean),
        "[ -~\\n\\té\u{1f600}]*".prop_map(Value::String),
    ];
    leaf.prop_recursive(6, 64, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::Array),
            prop::collection::btree_map("[a-zA-Z<&>]{0,5}", inner, 0..5).prop_map(Value::Struct),
        ]
    })
}

proptest! {
    #[test]
    fn what_is_written_is_read_back(value in any_value()) {
        let text = answer(&value).replace("methodResponse>", "methodCall>");
        let text = text.replacen("<params>", "<methodName>x</methodName><params>", 1);
        prop_assert_eq!(read(text.as_bytes()).unwrap().params, vec![value]);
    }

    #[test]
    fn any_bytes_are_refused_or_a_call(body in prop::collection::vec(any::<u8>(), 0..300)) {
        let _ = read(&body);
    }

    #[test]
    fn any_elements_are_refused_or_a_call(
        parts in prop::collection::vec(
            prop::sample::select(vec![
                "<methodCall>", "</methodCall>", "<methodName>", "</methodName>", "<params>", "</params>", "<param>",
                "</param>", "<value>", "</value>", "<int>", "</int>", "<array>", "</array>", "<data>", "</data>", "<struct>",
                "</struct>", "<member>", "</member>", "<name>", "</name>", "<base64>", "</base64>", "<!--", "-->", "<![CDATA[",
                "]]>", "<?", "?>", "&", "&amp;", "&#0;", "<value/>", "1", "x", " ", "<!DOCTYPE x>",
            ]),
            0..40,
        )
    ) {
        if let Ok(request) = read(parts.concat().as_bytes()) {
            let _ = crate::supervisor::call::read(request);
        }
    }
}
