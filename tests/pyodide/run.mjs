// Runs inside.py in Pyodide. The folders of the arguments are there as /course, /site (of the widget libraries) and
// /given; what it prints is its answer.
import { loadPyodide } from "pyodide";

const python = await loadPyodide();
for (const [place, folder] of Object.entries({ "/course": 2, "/site": 3, "/given": 4 })) {
  python.mountNodeFS(place, process.argv[folder]);
}
await python.runPythonAsync(python.FS.readFile("/given/inside.py", { encoding: "utf8" }));
