export { FakeClock, settle } from './fake-clock.ts';
export {
	type ProcessResult,
	type RunningProcess,
	runSidecar,
	sidecarBin,
	spawnProcess,
	startSidecar,
} from './spawn-sidecar.ts';
export { type TempSocket, tempSocket } from './temp-socket.ts';
export { waitFor } from './wait-for.ts';
