/// The version of this program, as users see it.
package enum Version {
    package static let text = "0.1.0"
    /// The `User-Agent` of requests.
    static let userAgent = "uplinkd/" + text
}
