/** The core-seconds that a process and its descendants have taken, as Linux counts them; elsewhere those of this process alone. */
import { readdirSync, readFileSync } from 'node:fs';

/** `USER_HZ`, the unit of `/proc`: the same on all architectures that Node runs on. */
const TICKS_PER_SECOND = 100;
/** Places in what follows the name of the program in `/proc/PID/stat`, by proc(5). */
const PARENT = 1;
/** In user mode and in the kernel, its own and of its children that have ended. */
const TIMES = [11, 12, 13, 14];

interface Taken {
  readonly parent: number;
  readonly ticks: number;
}

/** What this process, those that it has started and those that they have started have taken until now, in core-seconds. */
export function coreSeconds(): number {
  const processes = readProcesses();
  const own = processes.get(process.pid);
  if (own === undefined) return process.cpuUsage().user / 1e6 + process.cpuUsage().system / 1e6;
  let ticks = 0;
  for (const [pid, taken] of processes) if (isOurs(pid, processes)) ticks += taken.ticks;
  return ticks / TICKS_PER_SECOND;
}

function isOurs(pid: number, processes: ReadonlyMap<number, Taken>): boolean {
  for (let at: number | undefined = pid; at !== undefined; at = processes.get(at)?.parent) {
    if (at === process.pid) return true;
  }
  return false;
}

function readProcesses(): Map<number, Taken> {
  const processes = new Map<number, Taken>();
  for (const name of namesOf('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const fields = statOf(name);
    if (fields === undefined) continue;
    const ticks = TIMES.reduce((sum, place) => sum + Number(fields[place]), 0);
    processes.set(Number(name), { parent: Number(fields[PARENT]), ticks });
  }
  return processes;
}

function namesOf(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function statOf(pid: string): string[] | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name of a program can have spaces and brackets.
    return text.slice(text.lastIndexOf(')') + 2).split(' ');
  } catch {
    return undefined;
  }
}
