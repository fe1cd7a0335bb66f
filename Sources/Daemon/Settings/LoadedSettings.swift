internal import Bytes
internal import Configuration
internal import Delivery
internal import HTTPTransport
internal import Posix
internal import SystemdService

/// The configuration with the files that it names: tokens and certificates; reading it may block.
struct LoadedSettings: Sendable {
    /// A destination, and whom to trust for it.
    struct DestinationFiles: Sendable {
        let settings: DestinationSettings
        /// Nil where it needs none, or its certificates cannot be read.
        let trust: TrustStore?
    }

    /// Nil where it has errors.
    let configuration: Configuration?
    let problems: [Problem]
    let destinations: [DestinationFiles]
    /// Files that cannot be used.
    let fileNotices: [Notice]

    /// Reads the configuration at `path` and its drop-ins.
    init(path: String) {
        var (configuration, problems) = Configuration.load(path: path)
        var destinations: [DestinationFiles] = []
        var reader = FileReader()
        for section in configuration?.destinations ?? [] {
            do throws(DeliveryError) {
                let settings = try DestinationSettings(section, token: reader.token(of: section), reader: &reader)
                let trust = settings.url.scheme == .https ? reader.trust(of: section) : nil
                destinations.append(DestinationFiles(settings: settings, trust: trust))
            } catch {
                let name = SettingName(section: "Destination", instance: section.name, key: "URL")
                let origin = configuration?.origins[name] ?? Origin(file: path, line: 1, column: 1)
                problems.append(Problem(.error, at: origin, "\(error)"))
                configuration = nil
            }
        }
        self.configuration = configuration
        self.problems = problems
        self.destinations = destinations
        fileNotices = reader.notices
    }

    var errors: [Problem] { problems.filter { $0.severity == .error } }
    var warnings: [Problem] { problems.filter { $0.severity == .warning } }
}

/// Reads the files that destinations name and remembers which cannot be used.
struct FileReader {
    private(set) var notices: [Notice] = []
    private var systemTrust: TrustStore?

    /// The token of `TokenFile=`, without the line end.
    mutating func token(of section: DestinationSection) -> [UInt8]? {
        guard let path = section.tokenFile, var token = contents(of: path, limit: 65_536, setting: "TokenFile") else {
            return nil
        }
        while token.last == UInt8(ascii: "\n") || token.last == UInt8(ascii: "\r") { token.removeLast() }
        return token
    }

    /// The certificates of `CACertificate=`; nil where none are named.
    mutating func authority(of section: DestinationSection) -> [UInt8]? {
        section.caCertificate.flatMap { contents(of: $0, limit: 16_777_216, setting: "CACertificate") }
    }

    /// Whom to trust: `CACertificate=`, or whom the system trusts.
    mutating func trust(of section: DestinationSection) -> TrustStore? {
        do throws(HTTPTransportError) {
            guard let path = section.caCertificate else {
                if systemTrust == nil { systemTrust = try TrustStore.system() }
                return systemTrust
            }
            guard let pem = contents(of: path, limit: 16_777_216, setting: "CACertificate") else { return nil }
            return try TrustStore(pem: pem)
        } catch {
            let path = section.caCertificate ?? TrustStore.systemPath
            notices.append(.fileUnreadable(path, setting: "CACertificate", detail: "\(error)"))
            return nil
        }
    }

    private mutating func contents(of path: String, limit: Int, setting: String) -> [UInt8]? {
        do throws(Errno) {
            return try FileSystem.contents(of: path, limit: limit)
        } catch {
            notices.append(.fileUnreadable(path, setting: setting, detail: "\(error)"))
            return nil
        }
    }
}
