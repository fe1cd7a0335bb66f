import Bytes
import Posix
import Testing

@testable import SystemdService

struct CatalogTests {
    /// The file that the table asks for; where it differs from what is shipped, the test prints it.
    @Test func theFileIsThatOfTheTable() throws {
        var folder = #filePath.split(separator: "/")
        folder.removeLast(3)
        let path = "/" + folder.joined(separator: "/") + "/systemd/uplinkd.catalog"
        let shipped = try FileSystem.contents(of: path, limit: 1 << 20).text
        #expect(shipped == Catalog.text, "systemd/uplinkd.catalog must be:\n\(Catalog.text)")
    }

    @Test func eachKindHasItsBlock() {
        for kind in NoticeKind.allCases { #expect(Catalog.text.contains("-- \(kind.rawValue)\nSubject: ")) }
        #expect(!Catalog.text.contains("["))
        for line in Catalog.text.split(separator: "\n") where !line.hasPrefix("Subject: ") {
            #expect(line.utf8.count <= 120)
        }
    }
}
