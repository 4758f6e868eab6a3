export { FramedSocket, type FramedSocketEvents, type FramedSocketOptions } from './framed-socket.ts';
export { makeDirectory } from './make-directory.ts';
export { createPacker, type Packing, packings, unpackInput } from './packing.ts';
export { SLICE_CHARACTERS } from './queued-output.ts';
export {
	assertPrivateDirectory,
	assertSocketPathFits,
	assertTrustedAddress,
	defaultSocketAddress,
	defaultSocketPath,
	formatAddress,
	POD_SOCKET_DIRECTORY,
	parseHostPort,
	SOCKET_FILE_NAME,
	SOCKET_PATH_VARIABLE,
	type SocketAddress,
	type SocketPath,
	type SocketPathFacts,
	socketDirectory,
	socketPathBytesMax,
	UNTRUSTED_DIRECTORY,
} from './socket-path.ts';
export { DENIED_BY_NODE, lstatOf, statOf } from './stat.ts';
