extension NoticeKind {
    /// What this kind says.
    var entry: NoticeEntry {
        guard let entry = Self.table[self] else { preconditionFailure("no entry for \(self)") }
        return entry
    }

    /// The one table of notices: the journal's fields and the catalog file both come from it.
    private static let table: [NoticeKind: NoticeEntry] = [
        .started: NoticeEntry(
            priority: .info, distinguishedBy: nil,
            text: "Version @UPLINK_VERSION@ starts with @UPLINK_FILE@",
            meaning: """
                The daemon begins: it reads its configuration, opens and checks the queue, then takes events.
                """,
            action: "Nothing."
        ),
        .ready: NoticeEntry(
            priority: .info, distinguishedBy: nil,
            text: "Ready: @UPLINK_COUNT@ destinations, @UPLINK_EVENTS@ events queued",
            meaning: """
                Local programs may post events; each is on disk before it is answered. This says nothing of the \
                network.
                """,
            action: "Nothing. `uplinkctl status` shows each destination."
        ),
        .stopping: NoticeEntry(
            priority: .info, distinguishedBy: nil,
            text: "Stopping: @UPLINK_REASON@",
            meaning: """
                No new clients are taken; what was accepted is made durable, then the daemon ends, at the latest after \
                five seconds.
                """,
            action: "Nothing. Events that wait stay on disk and are sent after the next start."
        ),
        .stopped: NoticeEntry(
            priority: .info, distinguishedBy: nil,
            text: "Stopped; on disk: @UPLINK_EVENTS@ events",
            meaning: """
                The daemon has ended cleanly. Every accepted event that is not delivered lies in the queue.
                """,
            action: "Nothing."
        ),
        .startFailed: NoticeEntry(
            priority: .critical, distinguishedBy: nil,
            text: "Cannot start: @UPLINK_DETAIL@",
            meaning: """
                The daemon ends. Its exit status says what for: 78 configuration, 77 permission, 74 the queue \
                directory is missing, not ours, locked or of unknown format, 73 a socket's path holds something else \
                or a live daemon.
                """,
            action: """
                Mend what the message names, then `systemctl restart uplinkd`. Nothing in the queue was touched.
                """
        ),
        .destinationReachable: NoticeEntry(
            priority: .notice, distinguishedBy: [.destination],
            text: """
                Destination @UPLINK_DESTINATION@ is reachable (was @UPLINK_PREVIOUS_STATE@)[, @UPLINK_EVENTS@ events \
                to send]
                """,
            meaning: """
                An answer from the destination itself has proved the way. Events that wait are sent now, oldest first.
                """,
            action: "Nothing."
        ),
        .destinationUnreachable: NoticeEntry(
            priority: .notice, distinguishedBy: [.destination, .state],
            text: "Destination @UPLINK_DESTINATION@ is @UPLINK_STATE@: @UPLINK_REASON@[, @UPLINK_DETAIL@]",
            meaning: """
                Events for it are kept on disk and sent when it answers again. Being offline is normal and fails \
                nothing.
                """,
            action: """
                If it lasts, look at the reason: no-route and link speak of this machine's network, dns of its name \
                servers, tls of certificates or the clock, refused and timeout of the collector.
                """
        ),
        .destinationVerifying: NoticeEntry(
            priority: .info, distinguishedBy: [.destination],
            text: "Destination @UPLINK_DESTINATION@ has a route; whether it answers is being found out",
            meaning:
                "The kernel has a way to it. Only an answer from the destination itself proves that it is reachable.",
            action: "Nothing. What came of it is said next."
        ),
        .destinationPortal: NoticeEntry(
            priority: .warning, distinguishedBy: [.destination],
            text: "Something else answers in place of destination @UPLINK_DESTINATION@[: @UPLINK_DETAIL@]",
            meaning: """
                The network answers with a page of its own, as hotels and trains do, or a proxy stands between. \
                Nothing was delivered, nothing is lost.
                """,
            action: "Log in to the network, or have the collector send the header that ExpectHeader= names."
        ),
        .destinationHeld: NoticeEntry(
            priority: .error, distinguishedBy: [.destination],
            text: "Destination @UPLINK_DESTINATION@ is held: @UPLINK_REASON@[, @UPLINK_DETAIL@]",
            meaning: """
                It gave an answer that needs a person, such as 401 or 404. Its events are kept; it is tried again \
                slowly, at most every 15 minutes.
                """,
            action: """
                Mend URL=, the token or the collector, then `uplinkctl resume @UPLINK_DESTINATION@`, or after a \
                change of the configuration `uplinkctl reload`: both try again at once.
                """
        ),
        .destinationReleased: NoticeEntry(
            priority: .notice, distinguishedBy: [.destination],
            text: "Destination @UPLINK_DESTINATION@ is no longer held[, @UPLINK_EVENTS@ events to send]",
            meaning: "It took a request again, or nothing is left that it could be tried with.",
            action: "Nothing."
        ),
        .destinationThrottled: NoticeEntry(
            priority: .info, distinguishedBy: [.destination],
            text: """
                Destination @UPLINK_DESTINATION@ asks for time: status @UPLINK_DETAIL@, next try in @UPLINK_SECONDS@ s
                """,
            meaning: """
                The collector is overloaded or limits the rate. Events are kept and sent later. Said once until it \
                takes requests again.
                """,
            action: "If it lasts for hours, look at the collector."
        ),
        .eventRefused: NoticeEntry(
            priority: .warning, distinguishedBy: [.destination],
            text: """
                Destination @UPLINK_DESTINATION@ refused event @UPLINK_EVENT@ for good: status @UPLINK_STATUS@[, \
                @UPLINK_DETAIL@]
                """,
            meaning: """
                It refused the event alone, with an answer that says the event is to blame, and began as the message \
                shows. The event is kept as a dead letter; those behind it go on. Of many, a line shows the newest.
                """,
            action: """
                `uplinkctl dead show @UPLINK_EVENT@` shows the event and the answer, `uplinkctl dead ls` all letters. \
                Then `uplinkctl dead retry @UPLINK_EVENT@` or `uplinkctl dead drop @UPLINK_EVENT@`.
                """
        ),
        .destinationRemoved: NoticeEntry(
            priority: .warning, distinguishedBy: [.destination],
            text: """
                Destination @UPLINK_DESTINATION@ is no longer configured; kept for it: @UPLINK_EVENTS@ events, and \
                every new one
                """,
            meaning: """
                Its section has vanished from the configuration. Its events stay in the queue, and every new event is \
                kept for it as well: in time they fill the queue.
                """,
            action: """
                Put the section back, with another URL= if need be, and leave it there until `uplinkctl status` shows \
                nothing queued; or give its events up by `uplinkctl destination forget @UPLINK_DESTINATION@`; or have \
                another destination get them: `uplinkctl destination rename @UPLINK_DESTINATION@ NEW`.
                """
        ),
        .destinationPaused: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "Destination @UPLINK_DESTINATION@ is paused by an operator[ for @UPLINK_DETAIL@]",
            meaning: "Its events are kept. The pause ends by `resume`, with its time, or with the daemon.",
            action: "`uplinkctl resume @UPLINK_DESTINATION@` lets it go on."
        ),
        .destinationPauseEnded: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "The pause of destination @UPLINK_DESTINATION@ is over",
            meaning: "An operator had paused it for a while, which has passed. What waits is sent again.",
            action: "Nothing."
        ),
        .destinationResumed: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "Destination @UPLINK_DESTINATION@ is resumed by an operator",
            meaning: "It is tried at once, whatever it waited for.",
            action: "Nothing."
        ),
        .destinationForgotten: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "Destination @UPLINK_DESTINATION@ is forgotten; events given up: @UPLINK_EVENTS@",
            meaning: "An operator gave up what was kept for a destination that is no longer configured.",
            action: "Nothing."
        ),
        .destinationRenamed: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "What was kept for destination @UPLINK_DESTINATION@ is kept for @UPLINK_DETAIL@ now",
            meaning: "An operator renamed a destination. One of the new name goes on where the old one stood.",
            action: "Configure the new name and reload."
        ),
        .lettersRetried: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "Dead letters are sent again: @UPLINK_EVENTS@",
            meaning: "An operator has them tried again, each alone and with its id. What is refused is one again.",
            action: "Nothing."
        ),
        .lettersDropped: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "Dead letters were thrown away: @UPLINK_EVENTS@",
            meaning: "An operator dropped them. They count as purged.",
            action: "Nothing."
        ),
        .flushFinished: NoticeEntry(
            priority: .notice, distinguishedBy: [.destination],
            text: """
                Destination @UPLINK_DESTINATION@ has all that waited: @UPLINK_EVENTS@ events in @UPLINK_SECONDS@ s
                """,
            meaning: "The backlog of an outage is delivered.",
            action: "Nothing."
        ),
        .networkChanged: NoticeEntry(
            priority: .info, distinguishedBy: [],
            text: "The network is @UPLINK_CONNECTION_TYPE@ (was @UPLINK_PREVIOUS_CONNECTION_TYPE@)",
            meaning: "The route to the first destination leaves by another kind of link, or by none.",
            action: "Nothing."
        ),
        .netlinkUnavailable: NoticeEntry(
            priority: .warning, distinguishedBy: [],
            text: "The kernel's network messages cannot be read: @UPLINK_DETAIL@",
            meaning: "A change of the network is noticed only by a failed request or by the check.",
            action: """
                The unit needs AF_NETLINK in RestrictAddressFamilies=; in a container, its network namespace. It is \
                tried again by itself.
                """
        ),
        .storageFailed: NoticeEntry(
            priority: .error, distinguishedBy: [.errno],
            text: "The disk reports an error: @UPLINK_DETAIL@[, @UPLINK_FILE@][ at @UPLINK_OFFSET@]",
            meaning: """
                It is tried again by itself, elsewhere on the disk. While that fails, too, new events are refused \
                with 503 and a time to retry. Nothing accepted is lost.
                """,
            action: "Look for a full, read-only or failing file system (`df`, `dmesg`)."
        ),
        .storageCured: NoticeEntry(
            priority: .notice, distinguishedBy: [],
            text: "The queue can be written again[ after @UPLINK_SECONDS@ s]",
            meaning: "Events are accepted again.",
            action: "Nothing."
        ),
        .diskSlow: NoticeEntry(
            priority: .warning, distinguishedBy: [],
            text: "A disk operation takes longer than @UPLINK_SECONDS@ s",
            meaning: """
                Over 10 s new events are refused with 503 `disk slow`. A restart does not cure a slow disk.
                """,
            action: "Look at the device: `iostat`, `dmesg`, SMART."
        ),
        .tornTail: NoticeEntry(
            priority: .info, distinguishedBy: [.file, .first],
            text: """
                The end of @UPLINK_FILE@ was torn by an interruption; @UPLINK_BYTES@ bytes that were never \
                acknowledged are passed over[, events @UPLINK_FIRST@ to @UPLINK_LAST@]
                """,
            meaning: """
                A crash or a power cut came in the midst of a write. No client was told that these bytes were safe.
                """,
            action: "Nothing."
        ),
        .eventsQuarantined: NoticeEntry(
            priority: .error, distinguishedBy: [.file, .offset],
            text: """
                @UPLINK_EVENTS@ events of log @UPLINK_LOG@ cannot be read, damaged: @UPLINK_FIRST@ to @UPLINK_LAST@, \
                @UPLINK_FILE@ at @UPLINK_OFFSET@
                """,
            meaning: """
                Bytes on disk changed after they were written. The events are copied aside, counted as quarantined for \
                every destination, and everything else goes on.
                """,
            action: "Suspect the device. The copies lie in the folder quarantine of the queue's directory."
        ),
        .logMissing: NoticeEntry(
            priority: .error, distinguishedBy: [.log],
            text: "All segments of log @UPLINK_LOG@ are gone, with what destinations still had to get of it",
            meaning: """
                A destination has a place in the log, and there is no file of it. How many events were lost is not \
                known. The log goes on behind those that were settled.
                """,
            action: "Find out what removed them: the folder logs of the queue's directory is the daemon's alone."
        ),
        .eventsExpired: NoticeEntry(
            priority: .warning, distinguishedBy: nil,
            text: """
                @UPLINK_EVENTS@ events of log @UPLINK_LOG@ expired, not acknowledged by destination \
                @UPLINK_DESTINATION@
                """,
            meaning: """
                Their time to live, or MaxAge=, was over. They are counted as expired and not sent there any more, but \
                for those that were on their way, or in a batch that is tried again: these may still arrive.
                """,
            action: "If they should have come through, see with `uplinkctl status` why they had to wait."
        ),
        .eventsEvicted: NoticeEntry(
            priority: .warning, distinguishedBy: nil,
            text: """
                The queue is full: @UPLINK_EVENTS@ events of log @UPLINK_LOG@ made room for newer ones, not \
                acknowledged by destination @UPLINK_DESTINATION@
                """,
            meaning: """
                WhenFull=drop-oldest: the oldest events of the least urgent lane are given up, and counted as evicted, \
                so that new ones can be taken. Those that were on their way, or in a batch that is tried again, may \
                still arrive.
                """,
            action: """
                See with `uplinkctl status` why nothing leaves; raise MaxSize= if the outage is longer than planned \
                for.
                """
        ),
        .cursorReset: NoticeEntry(
            priority: .warning, distinguishedBy: [.destination, .log],
            text: """
                How far destination @UPLINK_DESTINATION@ had come in log @UPLINK_LOG@ is unknown; it starts again at \
                event @UPLINK_FIRST@
                """,
            meaning: """
                Both copies of its place were unreadable. Events may be delivered a second time, with the same event \
                ids; none is left out.
                """,
            action: "Let the collector drop repeats by event_id. Suspect the device."
        ),
        .lettersAdopted: NoticeEntry(
            priority: .warning, distinguishedBy: [.destination, .log],
            text: """
                Dead letters of destination @UPLINK_DESTINATION@, log @UPLINK_LOG@, that were not counted and count \
                as dead now: @UPLINK_EVENTS@
                """,
            meaning: """
                Their files are whole and of this queue, but its ledger did not know them: they were put back, or the \
                destination's place was lost. They count as dead instead of what they were counted as.
                """,
            action: "Look at them with uplinkctl dead ls; drop those that are not wanted."
        ),
        .strayFile: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "In the queue's directory, but no part of the queue; left alone: @UPLINK_DETAIL@",
            meaning: """
                Something that the daemon did not make, or does not know, lies in the queue's directory. A file with a \
                segment's or a dead letter's name in which nothing says that it is one hides and settles no event. \
                What it takes counts against MaxSize=.
                """,
            action: """
                Move it away if nobody needs it there. The daemon does not change or remove it; only a purge takes \
                segments of its category away, whatever is in them.
                """
        ),
        .recovered: NoticeEntry(
            priority: .info, distinguishedBy: nil,
            text: "The queue was checked in @UPLINK_SECONDS@ s: @UPLINK_EVENTS@ events",
            meaning: "What an earlier run left is read and counted.",
            action: "Nothing."
        ),
        .queueFilling: NoticeEntry(
            priority: .warning, distinguishedBy: [.percent],
            text: "The queue is @UPLINK_PERCENT@ % full: @UPLINK_EVENTS@ events, @UPLINK_BYTES@ bytes",
            meaning: "Bulk events are refused at 80 %, normal ones at 95 %, urgent ones when it is full.",
            action: """
                See with `uplinkctl status` why nothing leaves; raise MaxSize= if the outage is longer than planned \
                for.
                """
        ),
        .consentChanged: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "Consent for @UPLINK_CATEGORY@: @UPLINK_STATE@, was @UPLINK_PREVIOUS_STATE@[ (@UPLINK_REASON@)]",
            meaning: """
                `allow`: its events are stored and sent. `hold`: they are stored, and sent once that is allowed. \
                `deny`: new ones are refused with 403, and those that waited are purged, dead letters as well.
                """,
            action: "Nothing. `uplinkctl consent show` lists all states, `uplinkctl consent set` changes one."
        ),
        .consentLost: NoticeEntry(
            priority: .error, distinguishedBy: [],
            text: "The states of consent could not be read[; on hold: @UPLINK_DETAIL@]",
            meaning: """
                The file `consent` in the queue's directory is damaged or missing. Events of all categories are stored \
                and not sent, but for those that the configuration denies, until somebody says what may be done with \
                each. What can be read of the old file is copied to `quarantine/consent`.
                """,
            action: "Set each category anew: `uplinkctl consent set CATEGORY allow`, `hold` or `deny`."
        ),
        .eventsPurged: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "Purged: @UPLINK_EVENTS@ events[ of @UPLINK_CATEGORY@]",
            meaning: """
                An operator denied a category or asked for the purge. They are gone from the queue's files, dead \
                letters and copies of damaged bytes as well, and each destination counts those that it still had.
                """,
            action: "Nothing."
        ),
        .intakeRefused: NoticeEntry(
            priority: .warning, distinguishedBy: [.reason],
            text: "New events are refused: @UPLINK_DETAIL@",
            meaning: "Their clients were told so, with a reason. What was refused is not in the queue.",
            action: """
                For `full` see `uplinkctl status` and the queue's limits; for a disk that fails or is slow, the device.
                """
        ),
        .configurationWarning: NoticeEntry(
            priority: .warning, distinguishedBy: [.place],
            text: "@UPLINK_PLACE@: @UPLINK_DETAIL@",
            meaning: "The configuration has something that looks wrong. The rest of it is in force.",
            action: "Mend the line. `uplinkd --check` shows all problems."
        ),
        .configurationError: NoticeEntry(
            priority: .error, distinguishedBy: [.place],
            text: "@UPLINK_PLACE@: @UPLINK_DETAIL@",
            meaning: """
                The configuration cannot be used. At start the daemon ends with 78; at a reload the old configuration \
                stays in force.
                """,
            action: "Mend the line. `uplinkd --check` shows all problems."
        ),
        .reloaded: NoticeEntry(
            priority: .notice, distinguishedBy: nil,
            text: "The configuration was reloaded[: @UPLINK_DETAIL@]",
            meaning: "The new settings are in force, but for those that the message says need a restart.",
            action: """
                Where it names a restart: `systemctl restart uplinkd`; clients of the events socket wait meanwhile.
                """
        ),
        .reloadRefused: NoticeEntry(
            priority: .error, distinguishedBy: nil,
            text: "The reload was refused: @UPLINK_DETAIL@",
            meaning: "The files have errors. The old configuration stays in force.",
            action: "Mend the lines named before this one, then reload again."
        ),
        .fileUnreadable: NoticeEntry(
            priority: .error, distinguishedBy: [.file, .detail],
            text: "@UPLINK_FILE@, named by @UPLINK_SETTING@, cannot be used: @UPLINK_DETAIL@",
            meaning: """
                A token or certificate could not be used, and what needs it waits. A token is read again at the next \
                try, a certificate only at a reload.
                """,
            action: """
                Look at the file's path, owner and mode: the daemon runs as user uplinkd. Then, for a certificate, \
                `uplinkctl reload`.
                """
        ),
        .loopStalled: NoticeEntry(
            priority: .warning, distinguishedBy: [],
            text: "The event loop stood still for @UPLINK_SECONDS@ s",
            meaning: """
                Something held the daemon up. If it stands still for the watchdog's time, systemd restarts it; nothing \
                accepted is lost.
                """,
            action: "Look for an overloaded or suspended machine; if it repeats on an idle one, report it."
        ),
        .clockUnsynchronised: NoticeEntry(
            priority: .notice, distinguishedBy: [],
            text: "The clock is not synchronised",
            meaning: "Events are taken and sent as ever; `accepted_at` is left out until the clock is right.",
            action: "Look at `timedatectl`."
        ),
        .clockSynchronised: NoticeEntry(
            priority: .info, distinguishedBy: [],
            text: "The clock is synchronised",
            meaning: "Events carry `accepted_at` from now on.",
            action: "Nothing."
        ),
        .linesDropped: NoticeEntry(
            priority: .warning, distinguishedBy: nil,
            text: "@UPLINK_COUNT@ log lines were dropped",
            meaning: "The journal or standard error took lines more slowly than they came.",
            action: "Look at journald. Nothing but log lines was lost."
        ),
    ]
}
