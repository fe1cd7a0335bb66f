import Testing

@testable import ControlClient

struct SocketAdviceTests {
    @Test func theGroupTheCommandTheLoginAndTheWayForAllAreNamed() {
        let expected = """
              Members of the group pets may. To join it:
                  sudo usermod -aG pets "$USER"
              and log in again: a group counts from the next login on.
              To let every local user post instead:
                  sudo systemctl edit uplinkd-events.socket    # add: [Socket], and below it: SocketMode=0666
                  sudo systemctl restart uplinkd-events.socket

            """
        #expect(SocketAdvice(group: "pets", .events).text == expected)
    }

    /// Who may not talk to a daemon is not told to take the whole machine.
    @Test(arguments: ["root", "sudo", "wheel", "adm", "shadow", "disk", "docker"])
    func nobodyIsToldToJoinAMightyGroup(_ group: String) {
        for (socket, section) in [(DaemonSocket.events, "Intake"), (.control, "Control")] {
            let text = SocketAdvice(group: group, socket).text
            #expect(!text.contains("usermod"), "\(text)")
            #expect(text.contains("The socket is of the group \(group),") && text.contains("in [\(section)] of\n"))
        }
        #expect(!SocketAdvice(group: "sysop", isOfRoot: true, .control).text.contains("usermod"))
    }

    @Test func whereTheSocketCannotBeSeenItIsTheUsualGroup() {
        #expect(SocketAdvice("/nowhere/x.sock", .events).text.contains("sudo usermod -aG uplinkd-clients"))
        let control = SocketAdvice("/nowhere/x.sock", .control).text
        #expect(control.contains("sudo usermod -aG uplinkd-admin") && !control.contains("SocketMode"))
    }
}
