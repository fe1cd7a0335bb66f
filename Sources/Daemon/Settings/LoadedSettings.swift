internal import Bytes
internal import Configuration
internal import Delivery
internal import HTTPTransport
internal import Posix
internal import SystemdService

/// The configuration with the files that it names: tokens and certificates; reading it may block.
struct LoadedSettings: Sendable {
    /// A destination, whom to trust for it and what to show it.
    struct DestinationFiles: Sendable {
        let settings: DestinationSettings
        /// Nil where it needs none, or one of its files cannot be used.
        let credentials: TLSCredentials?
        /// Which file that is, and why; nil where there is none.
        let credentialsFault: String?
    }

    /// Nil where it has errors.
    let configuration: Configuration?
    let problems: [Problem]
    let destinations: [DestinationFiles]
    /// Files that cannot be used.
    let fileNotices: [Notice]
    /// The same, where they are named.
    let fileProblems: [Problem]

    /// Reads the configuration at `path` and its drop-ins.
    init(path: String) {
        let loaded = Configuration.load(path: path)
        let configuration = loaded.configuration
        var problems = loaded.problems
        var destinations: [DestinationFiles] = []
        var reader = FileReader()
        var fileProblems: [Problem] = []
        var isGood = true
        let origins = configuration?.origins ?? [:]
        func origin(of key: String, _ section: DestinationSection) -> Origin {
            origins[SettingName(section: "Destination", instance: section.name, key: key)]?.last
                ?? Origin(file: path, line: 1, column: 1)
        }
        for section in configuration?.destinations ?? [] {
            let known = reader.notices.count
            do throws(DeliveryError) {
                let settings = try DestinationSettings(section, reader: &reader)
                let credentials = settings.url.scheme == .https ? reader.credentials(of: section, settings) : nil
                let fault = settings.url.scheme == .https && credentials == nil ? reader.notices.last?.message : nil
                destinations.append(
                    DestinationFiles(settings: settings, credentials: credentials, credentialsFault: fault))
            } catch {
                problems.append(Problem(.error, at: origin(of: "URL", section), "\(error)"))
                isGood = false
            }
            for notice in reader.notices[known...] {
                let setting = notice.fields[.setting] ?? "URL"
                // Only the unit has credentials.
                if setting == "Credential", Process.environment("CREDENTIALS_DIRECTORY") == nil { continue }
                fileProblems.append(Problem(.warning, at: origin(of: setting, section), notice.message))
            }
        }
        self.configuration = isGood ? configuration : nil
        self.problems = problems
        self.destinations = destinations
        self.fileProblems = fileProblems
        fileNotices = reader.notices
    }

    var errors: [Problem] { problems.filter { $0.severity == .error } }
    var warnings: [Problem] { problems.filter { $0.severity == .warning } }
}

/// Reads the files that destinations name and remembers which cannot be used.
struct FileReader {
    private(set) var notices: [Notice] = []
    private var systemTrust: TrustStore?

    /// The token of `TokenFile=` or `Credential=`, without the line end; nil where there is none, or, as the last of
    /// `notices` says, it cannot be used.
    mutating func token(of section: DestinationSection) -> [UInt8]? {
        guard let (path, setting) = Self.place(ofTokenOf: section),
            var token = contents(of: path, limit: 65_536, setting: setting)
        else {
            return nil
        }
        while token.last == UInt8(ascii: "\n") || token.last == UInt8(ascii: "\r") { token.removeLast() }
        guard !token.isEmpty else {
            notices.append(.fileUnreadable(path, setting: setting, detail: "it is empty"))
            return nil
        }
        if let bad = token.firstIndex(where: { !DestinationSettings.isOfToken($0) }) {
            let detail = "byte \(bad + 1) is no visible ASCII character, which is all that a token can hold"
            notices.append(.fileUnreadable(path, setting: setting, detail: detail))
            return nil
        }
        return token
    }

    /// Where the token of a destination stands, and the setting that says so; nil where it has none.
    static func place(ofTokenOf section: DestinationSection) -> (path: String, setting: String)? {
        if let path = section.tokenFile { return (path, "TokenFile") }
        let folder = Process.environment("CREDENTIALS_DIRECTORY") ?? "$CREDENTIALS_DIRECTORY"
        return section.credential.map { (folder + "/" + $0, "Credential") }
    }

    /// The text of a file of certificates or keys; nil where none is named, or it cannot be read.
    mutating func pem(_ path: String?, setting: String) -> [UInt8]? {
        path.flatMap { contents(of: $0, limit: 16_777_216, setting: setting) }
    }

    /// What the files that were read give; nil where one cannot be used.
    mutating func credentials(of section: DestinationSection, _ settings: DestinationSettings) -> TLSCredentials? {
        guard let trust = trust(of: section, settings) else { return nil }
        guard let path = section.clientCertificate else { return TLSCredentials(trust: trust) }
        guard let certificate = settings.clientCertificate, let key = settings.clientKey else { return nil }
        do throws(HTTPTransportError) {
            return TLSCredentials(
                trust: trust, identity: try ClientIdentity(certificate: certificate, key: key))
        } catch {
            let isOfKey = error != .clientCertificate && section.clientKey != nil
            notices.append(
                .fileUnreadable(
                    isOfKey ? section.clientKey ?? path : path, setting: isOfKey ? "ClientKey" : "ClientCertificate",
                    detail: "\(error)"))
            return nil
        }
    }

    /// Whom to trust: `CACertificate=`, or whom the system trusts.
    private mutating func trust(of section: DestinationSection, _ settings: DestinationSettings) -> TrustStore? {
        do throws(HTTPTransportError) {
            guard section.caCertificate != nil else {
                if systemTrust == nil { systemTrust = try TrustStore.system() }
                return systemTrust
            }
            return try settings.authority.map { pem throws(HTTPTransportError) in try TrustStore(pem: pem) }
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
