// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Parses JSON from standard input, prints it, and counts words.
use std::collections::{BTreeMap, HashMap};
use std::io::Read;
#[derive(Debug, Clone, PartialEq)]
enum Json {
    Null,
    Bool(bool),
    Num(f64),
    Str(String),
    Arr(Vec<Json>),
    Obj(BTreeMap<String, Json>),
}
struct P<'a> {
    s: &'a [u8],
    i: usize,
}
impl<'a> P<'a> {
    fn ws(&mut self) {
        while self.i < self.s.len() && self.s[self.i].is_ascii_whitespace() {
            self.i += 1
        }
    }
    fn val(&mut self) -> Result<Json, String> {
        self.ws();
        match self.s.get(self.i) {
            Some(b'n') => {
                self.i += 4;
                Ok(Json::Null)
            }
            Some(b't') => {
                self.i += 4;
                Ok(Json::Bool(true))
            }
            Some(b'f') => {
                self.i += 5;
                Ok(Json::Bool(false))
            }
            Some(b'"') => Ok(Json::Str(self.string()?)),
            Some(b'[') => {
                self.i += 1;
                let mut v = vec![];
                loop {
                    self.ws();
                    if self.s.get(self.i) == Some(&b']') {
                        self.i += 1;
                        return Ok(Json::Arr(v));
                    }
                    v.push(self.val()?);
                    self.ws();
                    if self.s.get(self.i) == Some(&b',') {
                        self.i += 1
                    }
                }
            }
            Some(b'{') => {
                self.i += 1;
                let mut m = BTreeMap::new();
                loop {
                    self.ws();
                    if self.s.get(self.i) == Some(&b'}') {
                        self.i += 1;
                        return Ok(Json::Obj(m));
                    }
                    let k = self.string()?;
                    self.ws();
                    self.i += 1;
                    let v = self.val()?;
                    m.insert(k, v);
                    self.ws();
                    if self.s.get(self.i) == Some(&b',') {
                        self.i += 1
                    }
                }
            }
            Some(_) => {
                let st = self.i;
                while self.i < self.s.len() && b"+-.eE0123456789".contains(&self.s[self.i]) {
                    self.i += 1
                }
                std::str::from_utf8(&self.s[st..self.i])
                    .unwrap()
                    .parse()
                    .map(Json::Num)
                    .map_err(|e| format!("{e}"))
            }
            None => Err("eof".into()),
        }
    }
    fn string(&mut self) -> Result<String, String> {
        self.i += 1;
        let st = self.i;
        while self.i < self.s.len() && self.s[self.i] != b'"' {
            self.i += 1
        }
        let r = String::from_utf8_lossy(&self.s[st..self.i]).into_owned();
        self.i += 1;
        Ok(r)
    }
}
fn main() {
    let mut s = String::new();
    std::io::stdin().read_to_string(&mut s).unwrap();
    let mut p = P {
        s: s.as_bytes(),
        i: 0,
    };
    match p.val() {
        Ok(v) => println!("{:?}", v),
        Err(e) => println!("error {e}"),
    }
    let mut words: HashMap<String, u32> = HashMap::new();
    for w in s.split_whitespace() {
        *words.entry(w.to_string()).or_default() += 1
    }
    let mut v: Vec<_> = words.into_iter().collect();
    v.sort();
    println!("{}", v.len());
}
