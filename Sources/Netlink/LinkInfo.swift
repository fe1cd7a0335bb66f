/// A network link (rtnetlink(7), RTM_NEWLINK).
package struct LinkInfo: Hashable, Sendable {
    package let index: UInt32
    package let name: String
    /// IFF_* bits (netdevice(7)).
    package let flags: UInt32
    /// RFC 2863 state, IF_OPER_* of linux/if.h: 0 unknown, 5 dormant, 6 up.
    package let operationalState: UInt8
    /// IFLA_INFO_KIND: `veth`, `wireguard`; nil for hardware.
    package let kind: String?
    /// ARPHRD_* of linux/if_arp.h: 1 Ethernet, 772 loopback.
    package let hardwareType: UInt16
    /// Index of the link below it in this namespace: a VLAN's trunk.
    package let lower: UInt32?
    /// Index of the bridge or bond that it is a port of.
    package let master: UInt32?
    /// How often its carrier came or went.
    package let carrierChanges: UInt32
    /// Name of the bus its device sits on: `pci`, `usb`.
    package let parentBus: String?

    package init(
        index: UInt32, name: String, flags: UInt32, operationalState: UInt8, kind: String? = nil,
        hardwareType: UInt16 = 1, lower: UInt32? = nil, master: UInt32? = nil, carrierChanges: UInt32 = 0,
        parentBus: String? = nil
    ) {
        self.index = index
        self.name = name
        self.flags = flags
        self.operationalState = operationalState
        self.kind = kind
        self.hardwareType = hardwareType
        self.lower = lower
        self.master = master
        self.carrierChanges = carrierChanges
        self.parentBus = parentBus
    }

    /// True where packets can leave: administratively up, and operationally up or unknown.
    ///
    /// Unknown is what tunnels, loopback and fresh bridges say; a lower layer that is up is not enough (802.1X).
    package var isUsable: Bool { flags & 1 != 0 && (operationalState == 0 || operationalState == 6) }
}
