import type { ServiceDefinition } from '@grpc/grpc-js';
import { loadFileDescriptorSetFromBuffer, type PackageDefinition } from '@grpc/proto-loader';

import { DESCRIPTORS } from './descriptors.ts';

/** Numbers of 64 bits are milliseconds and revisions, which a number of JavaScript holds. */
const OPTIONS = { longs: Number, enums: String, defaults: true, oneofs: true } as const;

let loaded: PackageDefinition | undefined;

function definitions(): PackageDefinition {
	loaded ??= loadFileDescriptorSetFromBuffer(Buffer.from(DESCRIPTORS, 'base64'), OPTIONS);
	return loaded;
}

/** A service by its full name. A response may be given as its bytes already. */
export function serviceDefinition(name: string): ServiceDefinition {
	const methods = Object.entries(definitions()[name] as ServiceDefinition).map(([method, definition]) => {
		const { responseSerialize } = definition;
		const serialize = (value: unknown): Buffer => (Buffer.isBuffer(value) ? value : responseSerialize(value));
		return [method, { ...definition, responseSerialize: serialize }] as const;
	});
	return Object.fromEntries(methods);
}

/** What makes the bytes of a message of this type. Made when it is first asked for. */
export function encoderOf<T extends object>(service: string, method: string): (message: T) => Buffer {
	let serialize: ((message: T) => Buffer) | undefined;
	return (message) => {
		serialize ??= (definitions()[service] as ServiceDefinition)[method]?.responseSerialize as (message: T) => Buffer;
		return serialize(message);
	};
}

/** A file of ../../proto for reflection. */
export interface DescribedFile {
	readonly package: string;
	/** A FileDescriptorProto. */
	readonly bytes: Buffer;
}

/** By the name of the file. */
export function describedFiles(): ReadonlyMap<string, DescribedFile> {
	files ??= new Map(
		[...texts(Buffer.from(DESCRIPTORS, 'base64'))].map(({ bytes }) => {
			const parts = [...texts(bytes)];
			const text = (number: number): string => parts.find((part) => part.number === number)?.bytes.toString() ?? '';
			return [text(FILE_NAME), { package: text(FILE_PACKAGE), bytes }];
		}),
	);
	return files;
}

/** The file of each service, method, message and enumeration. */
export function symbolNames(): ReadonlyMap<string, string> {
	if (symbols !== undefined) return symbols;
	const names = Object.entries(definitions()).flatMap(([name, definition]) => {
		const methods = 'format' in definition ? [] : Object.keys(definition);
		return [name, ...methods.map((method) => `${name}.${method}`)];
	});
	symbols = new Map(
		names.flatMap((name) => {
			const [file] = [...describedFiles()].find(([, one]) => name.startsWith(`${one.package}.`)) ?? [];
			return file === undefined ? [] : [[name, file] as const];
		}),
	);
	return symbols;
}

let files: ReadonlyMap<string, DescribedFile> | undefined;
let symbols: ReadonlyMap<string, string> | undefined;

/** Fields of FileDescriptorProto: https://github.com/protocolbuffers/protobuf/blob/main/src/google/protobuf/descriptor.proto */
const FILE_NAME = 1;
const FILE_PACKAGE = 2;

/** The members of a message that has only texts, bytes and messages: our own descriptors, at their outermost level. */
function* texts(message: Buffer): Generator<{ readonly number: number; readonly bytes: Buffer }> {
	let at = 0;
	const varint = (): number => {
		let value = 0;
		for (let shift = 0; ; shift += 7) {
			const byte = message[at++] ?? 0;
			value += (byte & 0x7f) * 2 ** shift;
			if (byte < 0x80) return value;
		}
	};
	while (at < message.length) {
		const number = varint() >> 3;
		const length = varint();
		yield { number, bytes: message.subarray(at, at + length) };
		at += length;
	}
}
