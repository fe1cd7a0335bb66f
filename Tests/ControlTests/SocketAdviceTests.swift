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

    @Test func whereTheSocketCannotBeSeenItIsTheUsualGroup() {
        #expect(SocketAdvice("/nowhere/x.sock", .events).text.contains("sudo usermod -aG uplinkd-clients"))
        let control = SocketAdvice("/nowhere/x.sock", .control).text
        #expect(control.contains("sudo usermod -aG uplinkd-admin") && !control.contains("SocketMode"))
    }
}
