"""An agent beside an HTTP client: eight downloads at a time, in the loop of the agent.

Prints:
200 hello from /a
404 /missing
"""

import asyncio
import http.server
import threading
import urllib.error
import urllib.request

import beeline


def get(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=20) as answer:
            return f"{answer.status} {answer.read().decode()}"
    except urllib.error.HTTPError as error:
        return f"{error.code} {error.filename.rpartition('/')[1]}{url.rpartition('/')[2]}"


async def fetch(message: beeline.Message) -> str:
    # A client of asyncio, aiohttp for example, is awaited here in the same way.
    return await asyncio.to_thread(get, message.text)


async def main(site: str) -> None:
    async with beeline.attach("fetcher") as fetcher, beeline.attach("reader") as reader:
        service = asyncio.create_task(fetcher.serve(fetch, concurrency=8))
        for path in ("/a", "/missing"):
            async with await reader.request("fetcher", site + path) as answer:
                print(answer.text)
        fetcher.stop_serving()
        await service


class Site(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"hello from {self.path}".encode()
        self.send_response(200 if self.path == "/a" else 404)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
    threading.Thread(target=server.serve_forever, daemon=True).start()
    asyncio.run(main(f"http://127.0.0.1:{server.server_port}"))
    server.shutdown()
