// Tests of Netlink.
