internal import CCurl
internal import Posix

/// The libcurl that this process has loaded.
package enum Libcurl {
    /// Starts it and returns its version and its TLS library's; call once, before any other thread exists.
    ///
    /// libcurl would write TLS keys to the file that SSLKEYLOGFILE names, so that is taken out of the environment.
    package static func start() throws(HTTPTransportError) -> String {
        Process.removeEnvironment("SSLKEYLOGFILE")
        let version = unsafe String(cString: ccurl_version())
        let library = unsafe String(cString: ccurl_tls_backend())
        let missing = ccurl_missing_abilities()
        guard missing & CCURL_LACKS_OPENSSL == 0 else { throw .tlsLibrary(library) }
        guard missing == 0 else { throw .unsuitable(version: version) }
        let code = curl_global_init(Int(CURL_GLOBAL_DEFAULT))
        guard code == CURLE_OK else { throw .start(code: Int(code.rawValue)) }
        return "libcurl/\(version) \(library)"
    }
}
