internal import Posix

extension Configuration {
    /// A file's name and bytes.
    package struct Source: Sendable {
        package let file: String
        package let bytes: [UInt8]

        /// The bytes of `file`.
        package init(file: String, bytes: [UInt8]) {
            self.file = file
            self.bytes = bytes
        }
    }
}
