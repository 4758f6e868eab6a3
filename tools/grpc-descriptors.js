// `npm run tables grpc`: writes what is made of packages/sidecar/proto: the descriptors that the sidecar serves by, and the Go code of
// examples/grpc-go-client. With `--check` it writes nothing, and fails if something is not up to date. Needs Go.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';

import { fail, root, say } from './prepare.js';

const PROTO = join(root, 'packages/sidecar/proto');
const FILES = [
	'spock/v1/discovery.proto',
	'grpc/health/v1/health.proto',
	'grpc/reflection/v1/reflection.proto',
	'grpc/reflection/v1alpha/reflection.proto',
];
const [CONTRACT] = FILES;
/** Modules in Go that have the code of the contract in them. */
const GO_MODULES = {
	'examples/grpc-go-client': 'spock.example/grpc-go-client',
	'benchmarks/go': 'spock.example/bench',
};

const bash = (script) => execFileSync('bash', [join(root, 'tools', script)], { encoding: 'utf8' }).trim();
process.env.PATH = `${bash('go-toolchain.sh')}${delimiter}${process.env.PATH}`;
const tools = bash('grpc-tools.sh');

/** The FileDescriptorSet of these files, without the places of declarations: comments stay in the files. */
function descriptorSet() {
	const directory = mkdtempSync(join(tmpdir(), 'spock-protoset-'));
	const out = join(directory, 'set');
	const protos = FILES.flatMap((file) => ['-proto', file]);
	execFileSync(join(tools, 'grpcurl'), ['-import-path', PROTO, ...protos, '-protoset-out', out, 'describe']);
	const set = readFileSync(out);
	rmSync(directory, { recursive: true });
	// In an order of its own: grpcurl has another one each time.
	const nameOf = (file) => new Map(fieldsOf(file)).get(1).toString();
	const files = [...fieldsOf(set)].map(([, file]) => file);
	files.sort((left, right) => FILES.indexOf(nameOf(left)) - FILES.indexOf(nameOf(right)));
	return Buffer.concat(files.map((file) => field(1, file)));
}

/** The fields of a message: number, and bytes or number. */
function* fieldsOf(bytes) {
	let at = 0;
	const varint = () => {
		let value = 0;
		for (let shift = 0; ; shift += 7) {
			const byte = bytes[at++];
			value += (byte & 0x7f) * 2 ** shift;
			if (byte < 0x80) return value;
		}
	};
	while (at < bytes.length) {
		const tag = varint();
		if ((tag & 7) === 0) yield [tag >> 3, varint()];
		else if ((tag & 7) === 2) {
			const end = varint() + at;
			yield [tag >> 3, bytes.subarray(at, end)];
			at = end;
		} else throw new Error(`a field of wire type ${tag & 7}`);
	}
}

function field(number, bytes) {
	const varint = (value) => (value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(value >>> 7)]);
	return Buffer.concat([Buffer.from([...varint((number << 3) | 2), ...varint(bytes.length)]), bytes]);
}

/** What a plugin of protoc makes of the contract for a module: a CodeGeneratorRequest on its input, the response on its output. */
function* generated(plugin, set, [directory, module]) {
	const files = [CONTRACT];
	const parameter = FILES.map((file) => `M${file}=${module}/${dirname(file).replace(/\//g, '')}pb`).join(',');
	const request = Buffer.concat([
		...files.map((file) => field(1, Buffer.from(file))),
		field(2, Buffer.from(`module=${module},${parameter}`)),
		...[...fieldsOf(set)].map(([, file]) => field(15, file)),
	]);
	for (const [number, value] of fieldsOf(execFileSync(join(tools, plugin), { input: request }))) {
		if (number === 1) fail(value.toString());
		if (number !== 15) continue;
		const parts = new Map(fieldsOf(value));
		yield [join(root, directory, parts.get(1).toString()), parts.get(15).toString()];
	}
}

const set = descriptorSet();
const outputs = new Map([
	[
		join(root, 'packages/sidecar/src/grpc/descriptors.ts'),
		`/** The FileDescriptorSet of ../../proto in base64, written by \`npm run tables grpc\`. */\nexport const DESCRIPTORS: string =\n\t'${set.toString('base64')}';\n`,
	],
	...Object.entries(GO_MODULES).flatMap((one) =>
		['protoc-gen-go', 'protoc-gen-go-grpc'].flatMap((plugin) => [...generated(plugin, set, one)]),
	),
]);
const stale = [...outputs].filter(([path, text]) => {
	try {
		return readFileSync(path, 'utf8') !== text;
	} catch {
		return true;
	}
});
if (process.argv.includes('--check')) {
	if (stale.length > 0)
		fail(`run \`npm run tables grpc\`: not up to date are ${stale.map(([path]) => path).join(', ')}`);
} else {
	for (const [path, text] of stale) {
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, text);
		say(`wrote ${path}`);
	}
}
