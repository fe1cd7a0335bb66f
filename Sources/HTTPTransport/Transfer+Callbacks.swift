internal import CCurl

extension Transfer {
    /// Has libcurl call this transfer, which must outlive its place in the multi handle.
    func attach() {
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        easy.check(
            unsafe ccurl_set_callbacks(
                easy.raw, takeHeadLine, takeBody, giveBody, rewindBody, context))
    }

    /// The transfer that was attached to an easy handle.
    static func attached(to easy: UnsafeMutableRawPointer) -> Transfer? {
        guard let context = unsafe ccurl_get_context(easy) else { return nil }
        return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
    }
}

private func transfer(_ context: UnsafeMutableRawPointer?) -> Transfer {
    guard let context = unsafe context else { preconditionFailure("libcurl lost its context") }
    return unsafe Unmanaged<Transfer>.fromOpaque(context).takeUnretainedValue()
}

private func takeHeadLine(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let raw = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe transfer(context).receive(headLine: Span(_unsafeBytes: raw)) ? raw.count : 0
}

private func takeBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    let raw = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
    return unsafe transfer(context).receive(body: Span(_unsafeBytes: raw)) ? raw.count : 0
}

private func giveBody(
    _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ context: UnsafeMutableRawPointer?
) -> Int {
    unsafe transfer(context).send(into: UnsafeMutableRawBufferPointer(start: bytes, count: size * count))
}

private func rewindBody(_ context: UnsafeMutableRawPointer?, _ offset: curl_off_t, _ origin: Int32) -> Int32 {
    let isFromStart = origin == 0
    return unsafe isFromStart && transfer(context).rewind(to: Int(offset))
        ? CURL_SEEKFUNC_OK : CURL_SEEKFUNC_FAIL
}
