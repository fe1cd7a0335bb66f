import JSON
import JSONReference

/// The scanner beside a second opinion; what it takes can be walked to its end.
enum FuzzedJSON {
    static func run(_ input: [UInt8]) {
        let text = input.span
        let extent: JSONExtent
        do throws(JSONError) {
            extent = try JSONScanner.document(text)
        } catch {
            precondition(error.offset >= 0 && error.offset <= input.count, "the fault lies at \(error.offset)")
            precondition(!ReferenceParser.accepts(input), "refused: \(error)")
            return
        }
        precondition(ReferenceParser.accepts(input), "taken as \(extent.kind)")
        precondition(extent.range.lowerBound >= 0 && extent.range.upperBound <= input.count)
        do throws(JSONError) {
            _ = try JSONValue(parsing: input)
        } catch {
            preconditionFailure("scanned, but not parsed: \(error)")
        }
        switch extent.kind {
        case .object: walkMembers(text, extent.range)
        case .array: walkElements(text, extent.range)
        default: break
        }
    }

    private static func walkMembers(_ text: Span<UInt8>, _ range: Range<Int>) {
        var members = JSONMembers(objectAt: range.lowerBound)
        var end = range.lowerBound + 1
        while let member = members.next(in: text) {
            precondition(member.name.lowerBound >= end && member.name.upperBound <= member.value.lowerBound)
            check(member.value, in: text, behind: member.name.upperBound)
            end = member.value.upperBound
        }
        precondition(members.closingBrace == range.upperBound - 1, "the brace is at \(members.closingBrace)")
    }

    private static func walkElements(_ text: Span<UInt8>, _ range: Range<Int>) {
        var elements = JSONElements(arrayAt: range.lowerBound)
        var end = range.lowerBound + 1
        while let element = elements.next(in: text) {
            check(element, in: text, behind: end)
            end = element.upperBound
        }
        precondition(end <= range.upperBound - 1)
    }

    /// What was found as a value is one by itself.
    private static func check(_ value: Range<Int>, in text: Span<UInt8>, behind end: Int) {
        precondition(value.lowerBound >= end && value.upperBound < text.count)
        do throws(JSONError) {
            let extent = try JSONScanner.document(text.extracting(value))
            precondition(extent.range == 0..<value.count, "\(value) holds more than its value")
        } catch {
            preconditionFailure("\(value) is no value: \(error)")
        }
    }
}
