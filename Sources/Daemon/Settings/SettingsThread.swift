internal import Posix
internal import Reactor

/// Reads the settings on a thread of its own: a mount that hangs, or a slow disk, holds up nothing else.
enum SettingsThread {
    /// Starts a thread that reads the configuration at `path` and the files that it names, posts them and ends.
    static func start(_ path: String, replies: Mailbox<LoadedSettings>) throws(Errno) {
        _ = try Posix.Thread(name: "settings") { replies.post(LoadedSettings(path: path)) }
    }
}
