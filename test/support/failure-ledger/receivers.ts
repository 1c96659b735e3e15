import type { App } from '../running-apps.js'

/** Processes of one receiver, as a load balancer sees them: one that was killed is started again. */
export class Receivers {
  private readonly apps = new Map<number, App>()

  private constructor(
    private readonly start: (slot: number) => Promise<App>,
    private readonly random: () => number,
  ) {}

  static async open(
    count: number,
    start: (slot: number) => Promise<App>,
    random: () => number,
  ): Promise<Receivers> {
    const receivers = new Receivers(start, random)
    await Promise.all(Array.from({ length: count }, (_, slot) => receivers.boot(slot)))
    return receivers
  }

  private async boot(slot: number): Promise<void> {
    this.apps.set(slot, await this.start(slot))
  }

  /** One that is up. */
  pick(): App {
    return this.pickSlot()[1]
  }

  private pickSlot(): [slot: number, app: App] {
    const up = [...this.apps]
    return up[Math.floor(this.random() * up.length)] as [number, App]
  }

  /** Kills one with SIGKILL, and starts it again. */
  async kill(): Promise<void> {
    const [slot, app] = this.pickSlot()
    this.apps.delete(slot)
    await app.kill()
    await this.boot(slot)
  }

  /** Waits until nothing runs in them any more, and ends them. */
  async close(): Promise<void> {
    const apps = [...this.apps.values()]
    await Promise.all(apps.map((app) => app.call('/drain')))
    await Promise.all(apps.map((app) => app.kill()))
  }
}
