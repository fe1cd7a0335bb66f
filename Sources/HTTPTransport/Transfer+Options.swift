internal import Bytes
internal import CCurl
internal import Delivery
internal import Time

extension Transfer {
    private static let oneSendLimit = 65_536
    /// The largest buffer that libcurl takes (CURLOPT_UPLOAD_BUFFERSIZE(3)).
    private static let uploadLimit = 2_097_152
    /// A connection that has idled longer is not used again.
    private static let connectionAgeSeconds = 30

    /// Sets all that the request asks for on its easy handle.
    func setOptions(target: Target, addresses: [IPAddress], isCompressed: Bool, tls: TLSContext?) {
        easy.reset()
        easy.collectErrorText()
        attach()
        setIsolation()
        setPeer(target, addresses)
        if let tls { tls.apply(to: easy) }
        var headers = request.headers.map { "\($0.name): \($0.value)" }
        // Waiting for a 100 would cost a round trip.
        headers.append("Expect:")
        if isCompressed { headers.append("Content-Encoding: gzip") }
        if request.method == .post { setBody() }
        easy.set(CURLOPT_HTTPHEADER, headers)
        easy.set(CURLOPT_CONNECTTIMEOUT_MS, Int(max(1, request.connectTimeout.milliseconds)))
        easy.set(CURLOPT_TIMEOUT_MS, Int(max(1, request.timeout.milliseconds)))
    }

    /// Nothing but the request decides: no signal, no environment, no file, no other protocol.
    private func setIsolation() {
        easy.set(CURLOPT_NOSIGNAL, 1)
        easy.set(CURLOPT_QUICK_EXIT, 1)
        easy.set(CURLOPT_NOPROXY, "")
        easy.set(CURLOPT_PROTOCOLS_STR, "http,https")
        easy.set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        easy.set(CURLOPT_PATH_AS_IS, 1)
        easy.set(CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2)
        easy.set(CURLOPT_CAINFO, nil)
        easy.set(CURLOPT_CAPATH, nil)
        easy.set(CURLOPT_MAXAGE_CONN, Self.connectionAgeSeconds)
    }

    private func setBody() {
        // Up to here libcurl sends head and body in one call, but not from a callback.
        guard body.count >= Self.oneSendLimit else { return easy.setBody(body) }
        easy.set(CURLOPT_POST, 1)
        easy.set(CURLOPT_POSTFIELDSIZE_LARGE, offset: body.count)
        // Each buffer costs a turn of the loop.
        easy.set(CURLOPT_UPLOAD_BUFFERSIZE, min(body.count, Self.uploadLimit))
    }

    private func setPeer(_ target: Target, _ addresses: [IPAddress]) {
        easy.set(CURLOPT_URL, target.text)
        if target.url.scheme == .unix { easy.set(CURLOPT_UNIX_SOCKET_PATH, target.url.host) }
        setProxy(target.proxy)
        guard let name = target.name else { return }
        let list = addresses.map { $0.isIPv6 ? "[\($0)]" : "\($0)" }.joined(separator: ",")
        easy.set(CURLOPT_RESOLVE, [name + list])
        easy.check(unsafe ccurl_forbid_look_ups(easy.raw))
    }

    /// An empty text keeps libcurl from asking the environment for one.
    private func setProxy(_ proxy: DestinationSettings.Proxy?) {
        easy.set(CURLOPT_PROXY, proxy?.text ?? "")
        // What it says to CONNECT is no answer of the destination, and what the destination is told is not for it.
        easy.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        easy.set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
        guard let user = proxy?.user else { return }
        easy.set(CURLOPT_PROXYUSERNAME, user)
        easy.set(CURLOPT_PROXYPASSWORD, proxy?.password ?? "")
    }
}
