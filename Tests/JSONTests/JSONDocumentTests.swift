import Bytes
import JSON
import Testing

private func members(_ text: String) -> [(name: String, value: String)] {
    let bytes = Array(text.utf8)
    var walk = JSONMembers(objectAt: 0)
    var found: [(name: String, value: String)] = []
    while let member = walk.next(in: bytes.span) {
        found.append((Array(bytes[member.name]).text, Array(bytes[member.value]).text))
    }
    #expect(walk.closingBrace == bytes.lastIndex(of: UInt8(ascii: "}")))
    return found
}

struct JSONMembersTests {
    @Test func walksTheTopLevelOnly() {
        let found = members("{ \"a\" : {\"b\":[1,{\"c\":\"}]\\\"\"}]} ,\"\":-1.5e3,\"d\\u0065\":\"x,y\" , \"f\":[ ]\n}")
        #expect(found.map(\.name) == ["a", "", "d\\u0065", "f"])
        #expect(found.map(\.value) == ["{\"b\":[1,{\"c\":\"}]\\\"\"}]}", "-1.5e3", "\"x,y\"", "[ ]"])
        #expect(members("{}").isEmpty)
        #expect(members("{ \n }").isEmpty)
    }

    @Test(arguments: [
        ("{\"was_queued\":1}", true), ("{\"w\\u0061s_queued\":1}", true), ("{\"was_queue\":1}", false),
        ("{\"was_queued2\":1}", false), ("{\"a\":{\"was_queued\":1}}", false), ("{\"a\":\"was_queued\"}", false),
        ("{\"a\":1,\"was_queued\":2}", true), ("{\"a\":\"\\\"was_queued\\\":\"}", false), ("{}", false),
        ("{\"\\u0077\\u0061s\\u005fqueued\":[]}", true), ("{\"was\\\\u005fqueued\":[]}", false),
    ])
    func knowsNamesWithEscapesResolved(_ text: String, has: Bool) {
        let bytes = Array(text.utf8)
        #expect(JSONMembers.object(at: 0, in: bytes.span, has: "was_queued") == has)
        var walk = JSONMembers(objectAt: 0)
        var found = false
        while let member = walk.next(in: bytes.span) {
            found = found || member.isNamed(Array("was_queued".utf8), in: bytes.span)
        }
        #expect(found == has)
    }

    @Test(arguments: [UInt64(3), 77])
    func walksEachMemberOfRandomObjects(seed: UInt64) throws {
        var texts = RandomJSON(seed: seed)
        for round in 0..<500 {
            let text = texts.object()
            var rebuilt: [UInt8] = Array("{".utf8)
            var walk = JSONMembers(objectAt: 0)
            while let member = walk.next(in: text.span) {
                if rebuilt.count > 1 { rebuilt.append(UInt8(ascii: ",")) }
                rebuilt += Array("\"".utf8) + text[member.name] + Array("\":".utf8) + text[member.value]
            }
            rebuilt.append(UInt8(ascii: "}"))
            #expect(walk.closingBrace == text.count - 1, "seed \(seed) round \(round)")
            #expect(
                try JSONValue(parsing: rebuilt) == JSONValue(parsing: text), "seed \(seed) round \(round): \(text.text)"
            )
        }
    }

    @Test(arguments: [UInt64(4), 78])
    func neverTrapsOnTextsThatAreNoJSON(seed: UInt64) {
        var texts = RandomJSON(seed: seed)
        for _ in 0..<500 {
            let text = texts.damaged(texts.object())
            var walk = JSONMembers(objectAt: 0)
            var count = 0
            while let member = walk.next(in: text.span), count <= text.count {
                count += 1
                #expect(member.value.upperBound <= text.count)
            }
            #expect(count <= text.count)
        }
    }
}

struct JSONValueTests {
    @Test func readsADocument() throws {
        let text = "{\"a\":[1,-2.5,true,null],\"b\":{\"c\":\"\\u00e9\\ud83d\\ude00\\ud800\\n\\/\"},\"a\":\"last\"}"
        let value = try JSONValue(parsing: Array(text.utf8))
        #expect(value["a"]?.string == "last")
        #expect(value["b"]?["c"]?.string == "é😀\u{FFFD}\n/")
        #expect(value.members?.first?.value.array?.map(\.double) == [1, -2.5, nil, nil])
        #expect(value.members?.first?.value.array?[0].integer == 1)
        #expect(value.members?.first?.value.array?[2].boolean == true)
        #expect(value["z"] == nil && value["a"]?["b"] == nil)
        #expect(throws: JSONError(.unexpectedEnd, at: 1)) { try JSONValue(parsing: Array("{".utf8)) }
    }
}

struct JSONWriterTests {
    @Test func writesWhatItReads() throws {
        var writer = JSONWriter()
        writer.beginObject()
        writer.member("text", "a\"b\\c\n\u{1}\u{7F}é")
        writer.member("none", nil as String?)
        writer.name("list")
        writer.beginArray()
        writer.number(-5)
        writer.number(UInt64.max)
        writer.number(0.5)
        writer.number(Double.nan)
        writer.boolean(true)
        writer.raw(Array("{}".utf8))
        writer.text([0x61, 0xFF])
        writer.beginArray()
        writer.endArray()
        writer.endArray()
        writer.member("last", 1)
        writer.endObject()
        let expected =
            #"{"text":"a\"b\\c\n\u0001\u007fé","none":null,"#
            + #""list":[-5,18446744073709551615,0.5,null,true,{},"a"# + "\u{FFFD}" + #"",[]],"last":1}"#
        #expect(writer.bytes.text == expected)
        #expect(try JSONValue(parsing: writer.bytes)["text"]?.string == "a\"b\\c\n\u{1}\u{7F}é")
    }
}
