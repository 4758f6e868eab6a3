export { ANONYMOUS_ACCESSOR, MANAGEMENT_TOKEN, manage, READ_ALL, startAclConsul, tokenOf } from './acl-consul.ts';
export { type CertificateRequest, type IssuedCertificate, makeAuthority, type TestAuthority } from './certificates.ts';
export { FakeClock, settle } from './fake-clock.ts';
export {
	FakeConsul,
	type FakeConsulOptions,
	type FakeConsulRequest,
	startFakeConsul,
} from './fake-consul.ts';
export type { FakeConsulCheck, FakeConsulInstance } from './fake-consul-entry.ts';
export type { FakeConsulFault } from './fake-consul-fault.ts';
export { FakeDns, type FakeDnsFault, type FakeDnsQuestion, type FakeDnsRecord, type FakeSrv } from './fake-dns.ts';
export {
	type FakeAnswer,
	FakeConnection,
	FakeSidecar,
	type FakeSidecarOptions,
	fakeInstance,
	fakeKey,
	fakePrefix,
	fakeSnapshot,
	HOLD_PING,
	type RecordedRequest,
	wireError,
} from './fake-sidecar.ts';
export { findProgram } from './find-program.ts';
export { freePort } from './free-ports.ts';
export { HOSTILE_TEXTS, HOSTILE_VALUES } from './hostile-values.ts';
export { describeKeyContract, type KeyFixture } from './key-contract.ts';
export { type MemoryPair, memoryPair } from './memory-transport.ts';
export { findConsul, type RealConsul, type RealConsulOptions, startConsul } from './real-consul.ts';
export type { MakeFixture, SourceFixture, SourceTraits } from './source-contract/fixture.ts';
export { describeSourceContract } from './source-contract.ts';
export {
	type ProcessResult,
	type RunningProcess,
	reasonIn,
	runSidecar,
	sidecarBin,
	spawnProcess,
	startSidecar,
	withPlainCommands,
} from './spawn-sidecar.ts';
export { type SteadyCall, SteadyCalls } from './steady-calls.ts';
export { TcpGate } from './tcp-gate.ts';
export { type TcpListener, tcpListener } from './tcp-listener.ts';
export { type TempInstance, TempServices } from './temp-services.ts';
export { type TempSocket, tempSocket } from './temp-socket.ts';
export { waitFor } from './wait-for.ts';
