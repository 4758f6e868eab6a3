export { FramedSocket, type FramedSocketEvents, type FramedSocketOptions } from './framed-socket.ts';
export {
	assertSocketPathFits,
	defaultSocketPath,
	formatAddress,
	POD_SOCKET_DIRECTORY,
	parseHostPort,
	SOCKET_FILE_NAME,
	SOCKET_PATH_VARIABLE,
	type SocketAddress,
	type SocketPathFacts,
	socketDirectory,
	socketPathBytesMax,
} from './socket-path.ts';
