"""A name server for one namespace, which answers as it is told to."""
import os
import socket
import threading

from harness import enter


class NameServer:
    """At the outer end of a pair: takes each question and, until told to, answers none.

    `answers` is an address of IPv4 for every name, or "" for names that nobody has.
    """

    def __init__(self, network):
        self.questions = 0
        self.answers = None
        made = []

        def bind():
            enter(network.outer)
            made.append(socket.socket(socket.AF_INET, socket.SOCK_DGRAM))
            made[0].bind((network.outer_address, 53))

        thread = threading.Thread(target=bind)
        thread.start()
        thread.join()
        self.socket = made[0]
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            question, sender = self.socket.recvfrom(2048)
            self.questions += 1
            answers = self.answers
            if answers is None:
                continue
            end = question.index(b"\0", 12) + 5
            has_record = answers and question[end - 4 : end - 2] == b"\0\1"
            head = question[:2] + (b"\x81\x80" if answers else b"\x81\x83") + b"\0\1"
            head += b"\0\1\0\0\0\0" if has_record else b"\0\0\0\0\0\0"
            record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(answers) if has_record else b""
            self.socket.sendto(head + question[12:end] + record, sender)


def use_name_server(network, address, options=""):
    """The pair's inner namespace asks there, by a resolv.conf that only that namespace sees."""
    folder = f"/etc/netns/{network.inner}"
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/resolv.conf", "w") as file:
        file.write(f"nameserver {address}\n{options}")
