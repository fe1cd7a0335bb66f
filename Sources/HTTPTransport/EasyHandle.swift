internal import CCurl

/// One of libcurl's easy handles with the memory that it points to, used for one transfer after another.
///
/// Reuse keeps its TLS sessions, so that a new connection resumes one.
@safe
final class EasyHandle {
    let raw: UnsafeMutableRawPointer
    private let message: UnsafeMutablePointer<CChar>
    private let failure: UnsafeMutablePointer<Int32>
    private var lists: [UnsafeMutablePointer<curl_slist>] = unsafe []

    /// Nil where there is no memory.
    init?() {
        guard let raw = unsafe curl_easy_init() else { return nil }
        unsafe self.raw = raw
        unsafe message = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe message.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        unsafe failure = .allocate(capacity: 1)
        unsafe failure.initialize(to: 0)
    }

    deinit {
        reset()
        unsafe curl_easy_cleanup(raw)
        unsafe message.deallocate()
        unsafe failure.deallocate()
    }

    /// Sets every option back; connections and sessions stay.
    func reset() {
        unsafe curl_easy_reset(raw)
        while let list = unsafe lists.popLast() { unsafe curl_slist_free_all(list) }
        unsafe message.pointee = 0
        unsafe failure.pointee = 0
    }

    /// What libcurl says went wrong; empty where it says nothing.
    var errorText: String { unsafe String(cString: message) }

    /// Has libcurl write its error text here.
    func collectErrorText() { check(unsafe ccurl_set_error_buffer(raw, message)) }

    /// The errno with which a socket could not be made; 0 where each could.
    var socketFailure: Int32 { unsafe failure.pointee }

    /// Has libcurl's sockets made by a function that keeps the errno, of which libcurl says nothing.
    func noteSocketFailure() { check(unsafe ccurl_note_socket_failure(raw, failure)) }

    func set(_ option: CURLoption, _ value: Int) { check(unsafe ccurl_set_long(raw, option, value)) }
    func set(_ option: CURLoption, offset value: Int) { check(unsafe ccurl_set_offset(raw, option, curl_off_t(value))) }
    func set(_ option: CURLoption, _ text: String?) {
        guard let text else { return check(unsafe ccurl_set_text(raw, option, nil)) }
        check(unsafe ccurl_set_text(raw, option, text))
    }

    /// Posts a copy of `body`, which lasts until the next `reset`.
    func setBody(_ body: [UInt8]) {
        check(unsafe body.withUnsafeBufferPointer { unsafe ccurl_copy_body(raw, $0.baseAddress, $0.count) })
    }

    /// Sets a list of texts.
    func set(_ option: CURLoption, _ texts: [String]) {
        var list: UnsafeMutablePointer<curl_slist>? = nil
        for text in texts {
            guard let longer = unsafe curl_slist_append(list, text) else { preconditionFailure("no memory") }
            unsafe list = unsafe longer
        }
        guard let list = unsafe list else { return }
        unsafe lists.append(list)
        check(unsafe ccurl_set_list(raw, option, list))
    }

    /// A number that libcurl knows of the last transfer.
    func number(_ info: CURLINFO) -> Int { unsafe ccurl_get_long(raw, info) }

    /// A text that libcurl knows of the last transfer; empty where it does not.
    func text(_ info: CURLINFO) -> String { unsafe String(cString: ccurl_get_text(raw, info)) }

    /// An option that this libcurl does not know, or no memory, is a bug or the end.
    func check(_ code: CURLcode) { precondition(code == CURLE_OK, "libcurl refused an option: \(code.rawValue)") }
}
