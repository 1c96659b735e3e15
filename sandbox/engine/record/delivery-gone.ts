/** A delivery that cannot be sent again any more: it is gone, or its endpoint is. */
export class DeliveryGone extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'DeliveryGone'
  }

  /** The error for a delivery that the log no longer keeps. */
  static forgotten(id: string): DeliveryGone {
    return new DeliveryGone(`There is no delivery ${id}: it may be too old, or deleted by a reset.`)
  }
}
