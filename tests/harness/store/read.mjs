// Reads every array of a store with zarrita, from a folder or over HTTP, and prints what it found as JSON.
import { createHash } from "node:crypto";
import { FetchStore, FileSystemStore } from "@zarrita/storage";
import * as zarr from "zarrita";

const [address] = process.argv.slice(2);
const store = address.startsWith("http") ? new FetchStore(address) : new FileSystemStore(address);
const metadata = JSON.parse(new TextDecoder().decode(await store.get("/zarr.json")));
const found = {};
for (const [name, node] of Object.entries(metadata.consolidated_metadata.metadata)) {
  if (node.node_type !== "array") continue;
  const array = await zarr.open.v3(zarr.root(store).resolve(name), { kind: "array" });
  const { data, shape } = await zarr.get(array);
  const bytes = data.buffer && new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  const content = bytes ? createHash("sha256").update(bytes).digest("hex") : Array.from(data);
  found[name] = { shape, content };
}
console.log(JSON.stringify(found));
