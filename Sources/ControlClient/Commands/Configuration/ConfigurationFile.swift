internal import Configuration
internal import Posix

extension Invocation {
    /// The file that the command line names, or else the one that a daemon reads.
    func configurationFile(_ console: Console) -> String {
        operand ?? console.environment("UPLINKD_CONFIG") ?? Configuration.usualPath
    }
}

extension Configuration {
    /// Where the daemon's configuration is, unless it is told otherwise.
    static let usualPath = "/etc/uplinkd/uplinkd.conf"

    /// What this user cannot read of the files that destinations name; the daemon may run as another.
    var unreadableFiles: [Problem] {
        destinations.flatMap { one in
            let files = [
                ("TokenFile", one.tokenFile), ("CACertificate", one.caCertificate),
                ("ClientCertificate", one.clientCertificate), ("ClientKey", one.clientKey),
            ]
            return files.compactMap { key, path -> Problem? in
                let name = SettingName(section: "Destination", instance: one.name, key: key)
                guard let path, let origin = origins[name]?.last else { return nil }
                do throws(Errno) {
                    _ = try FileSystem.contents(of: path, limit: 16 << 20)
                    return nil
                } catch {
                    return Problem(.warning, at: origin, "\(key)=: \(path): \(error)".printable)
                }
            }
        }
    }
}
